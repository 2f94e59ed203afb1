package subject

import (
	"reflect"
	"slices"
	"strings"
)

// withLists is a copy in which every list is a list: a nil one would be null in the document, which its schema refuses. The markers
// whose value is a pid are all in PIDMarkers.
func (c *Config) withLists() *Config {
	w := *c
	for _, m := range w.Markers {
		if m.Value == MarkerPID && !slices.Contains(w.PIDMarkers, m.Name) {
			w.PIDMarkers = append(slices.Clip(w.PIDMarkers), m.Name)
		}
	}
	fillLists(reflect.ValueOf(&w).Elem())
	return &w
}

// fillLists makes a copy of every list in v, an empty one of a nil one; what is left out of the document when it is empty stays as it is.
func fillLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !strings.HasSuffix(v.Type().Field(i).Tag.Get("json"), ",omitempty") {
				fillLists(v.Field(i))
			}
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for i := range list.Len() {
			fillLists(list.Index(i))
		}
		v.Set(list)
	}
}
