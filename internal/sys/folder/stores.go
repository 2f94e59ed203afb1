package folder

import "slices"

// stores are the names of what version control keeps at the top of a checkout: git, Jujutsu, Mercurial, Sapling, Bazaar, Pijul, darcs,
// Subversion, and Fossil, whose own are files.
var stores = []string{".git", ".jj", ".hg", ".sl", ".bzr", ".pijul", "_darcs", ".svn", ".fslckout", "_FOSSIL_"}

// Store says whether a name is that of what version control keeps at the top of a checkout.
func Store(name string) bool { return slices.Contains(stores, name) }

// CVS says whether a folder, by its name and those in it, is what CVS keeps in each folder of a checkout.
func CVS(name string, names []string) bool {
	return name == "CVS" && slices.Contains(names, "Entries") && slices.Contains(names, "Repository")
}
