package main

import (
	"errors"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/strict"
)

// refusedLayers takes what is wrong with layers as refusals; any other error stays.
func refusedLayers(_ []*config.Layer, err error) (policy.Refusals, error) {
	var refused policy.Refusals
	var wrong strict.Problems
	switch {
	case errors.As(err, &refused):
		return refused, nil
	case errors.As(err, &wrong):
		for _, w := range wrong {
			refused = append(refused, policy.Refusal{Class: policy.ClassLayer, File: w.File, Line: w.Line, Problem: w.Text, Fix: "docs/guides/share-policies.md has all that may stand in it"})
		}
		return refused, nil
	}
	return nil, err
}
