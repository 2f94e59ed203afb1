package scaffold

import (
	"cmp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// about is what the templates write about one kind of candidate. In its texts %o is the name of the rule's list in
// rules.custom, %w a word that the name of the example begins with.
type about struct {
	Kind, Thing, Several string
	// Field is a word for the name that is compared, Name its path below input.
	Field, Name       string
	Needs, Candidates string
	// Wait says what the duration is for; "" where the rule has none. And, Means and Message say what else must hold.
	Wait, And, Means, Message string
	Conditions                []string
	Evidence                  string
	// Subject is an input that the rule finds, Spare the path and the value that make it stay, SpareName what that is.
	Subject, Spare string
	SpareName      string `yaml:"spare_name"`
	// Facts are the paths without which nothing is found, the path of the name first.
	Facts []string
}

// kinds are the texts of templates/kinds.yaml, by the folder of the kind.
var kinds = sync.OnceValue(func() (all map[string]about) {
	data, err := files.ReadFile("templates/kinds.yaml")
	if err = cmp.Or(err, yaml.Unmarshal(data, &all)); err != nil {
		panic(err) // it is a part of the program
	}
	return all
})

// values are what the templates need for one rule.
type values struct {
	Rule
	about
	Title, Own, Word string
}

func (r Rule) values() values {
	v := values{Rule: r, Title: "Labelled " + r.Leaf, Own: r.Leaf + "_labels",
		Word: strings.ReplaceAll(r.Leaf, "_", "-") + "-"}
	if r.Folder == "" {
		return v
	}
	v.about, v.Own = kinds()[r.Folder], r.Leaf+"_"+r.Folder
	v.Title = strings.ToUpper(r.Leaf[:1]) + strings.ReplaceAll(r.Leaf[1:], "_", " ") + " " + v.Thing
	return v
}
