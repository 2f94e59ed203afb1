package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"winnow/cmd/winnow/config"
	"winnow/collectors"
	"winnow/collectors/panes/codev"
	"winnow/engine/snapshot"
)

// codevOptions say which of Codev's state folders are read; known is what earlier looks remember of who had which terminal.
func (a *app) codevOptions(sc scope, known []snapshot.Owner) codev.Options {
	home, _ := os.UserHomeDir() // "" where it is not known
	return codev.Options{
		Homes: a.cfg.Collect.Codev.Homes, Tower: a.cfg.Collect.Codev.Tower, Env: os.Getenv, Home: home,
		ProcRoot: a.cfg.Collect.Processes.Root, Known: known, Only: sc.only(snapshot.KindTerminal), Log: a.log.Named("codev"),
	}
}

// codevSources are the state folders with their Towers.
func (a *app) codevSources(sc scope, known []snapshot.Owner) ([]collectors.Source, error) {
	out, err := codev.Sources(a.codevOptions(sc, known))
	if err != nil {
		return nil, config.Mistakef("collect.codev: %v", err)
	}
	return keep(out, sc.kind == snapshot.KindTerminal, sc.source), nil
}

// builders are the stores of the same folders, each of which is a registry of builders. One that does not exist yet records nothing.
func (a *app) builders() ([]config.Record, error) {
	paths, err := codev.Stores(a.codevOptions(scope{}, nil))
	if err != nil {
		return nil, config.Mistakef("collect.codev: %v", err)
	}
	var out []config.Record
	for _, path := range paths {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			out = append(out, config.Record{Name: "codev", Format: "codev", Path: path})
		}
	}
	return out, nil
}

// told gives records that have the same name, or one that the operator has used, names of their own.
func told(list []config.Record, taken []config.Record) []config.Record {
	for i, r := range list {
		if slices.ContainsFunc(slices.Concat(taken, list[:i]), func(t config.Record) bool { return t.Name == r.Name }) {
			list[i].Name += "~" + collectors.Short(r.Path)
		}
	}
	return list
}
