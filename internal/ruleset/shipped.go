package ruleset

import ()

// Shipped reports whether a rule is one of those that the program brings.
func (l *Loader) Shipped() func(rule string) bool {
	files := map[string]bool{}
	for _, f := range l.Policy.Files {
		files[f.Name] = f.Tree == EmbeddedName
	}
	return func(rule string) bool { return files[l.Policy.Rule(rule).File] }
}
