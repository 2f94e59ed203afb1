package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/git/revision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// vector is a way to make git run a program, or to make it look elsewhere. bites is true for those that plain git status falls for, by
// which it is known that the trap is set.
type vector struct {
	name  string
	set   func(p *prey)
	bites bool
}

// filter makes a vector of a content filter: the name that .gitattributes gives it, and the configuration, in which EVIL is the program.
func filter(name, attribute, config string) vector {
	return vector{"filter: " + name, func(p *prey) {
		p.write(filepath.Join(p.tree, ".gitattributes"), "* "+attribute+"\n")
		p.add(filepath.Join(p.common, "config"), strings.ReplaceAll(config, "EVIL", p.evil))
	}, true}
}

// config makes a vector of a line of configuration.
func config(text string, bites bool) vector {
	name := strings.Join(strings.Fields(text), " ")
	return vector{"configuration: " + name, func(p *prey) {
		p.add(filepath.Join(p.common, "config"), strings.NewReplacer("EVIL", p.evil, "MARK", p.mark).Replace(text))
	}, bites}
}

// hook makes a vector of a hook that is in the repository.
func hook(name string) vector {
	return vector{"hook: " + name, func(p *prey) {
		path := filepath.Join(p.common, "hooks", name)
		executable.Write(p, path, "#!/bin/sh\necho hook >>'"+p.mark+"'\n")
	}, false}
}

// included makes a vector of a filter that another file defines, which the configuration includes.
func included(name, header string) vector {
	return vector{"included: " + name, func(p *prey) {
		p.write(filepath.Join(p.tree, ".gitattributes"), "* filter=x\n")
		p.write(filepath.Join(p.common, "more"), "[filter \"x\"]\n\tclean = "+p.evil+"\n")
		p.add(filepath.Join(p.common, "config"), "[remote \"o\"]\n\turl = https://example.org/x\n"+strings.ReplaceAll(header, "DIR", p.common)+"\n\tpath = more\n")
	}, true}
}

func environment(name, value string) vector {
	return vector{"environment: " + name, func(p *prey) {
		p.TB.(*testing.T).Setenv(name, strings.NewReplacer("EVIL", p.evil, "MARK", p.mark, "DIR", p.dir).Replace(value))
	}, false}
}

var vectors = []vector{
	filter("quoted", "filter=x", "[filter \"x\"]\n\tclean = EVIL\n"),
	filter("a section with a dot and a subsection", "filter=x.y", "[filter.X \"y\"]\n\tclean = EVIL\n"),
	filter("in capitals", "filter=x", "[FILTER \"x\"]\n\tCLEAN = EVIL\n"),
	filter("old style", "filter=x", "[filter.X]\n\tclean = EVIL\n"),
	filter("on one line", "filter=x", "[filter \"x\"] clean = EVIL\n"),
	filter("on a line with another section", "filter=x", "[a] b = c\n[a][filter \"x\"] clean = EVIL\n"),
	filter("over two lines", "filter=x", "[filter \"x\"]\n\tclean = \\\nEVIL\n"),
	filter("value in quotes", "filter=x", "[filter \"x\"]\n\tclean = \"EVIL\" # comment\n"),
	filter("escaped", "filter=x", "[filter \"\\x\"]\n\tclean = EVIL\n"),
	filter("tab and spaces", "filter=x", "[filter \t \"x\"]\tclean\t=\tEVIL\n"),
	filter("carriage returns", "filter=x", "[filter \"x\"]\r\n\tclean = EVIL\r\n"),
	filter("equals sign in the name", "filter=x=y", "[filter \"x=y\"]\n\tclean = EVIL\n"),
	filter("comment signs in the name", "filter=x#y", "[filter \"x#y\"]\n\tclean = EVIL\n"),
	filter("bracket in the name", "filter=x]y", "[filter \"x]y\"]\n\tclean = EVIL\n"),
	filter("process", "filter=x", "[filter \"x\"]\n\tprocess = EVIL\n"),
	filter("required", "filter=x", "[filter \"x\"]\n\tclean = EVIL\n\tsmudge = EVIL\n\trequired\n"),
	filter("by a macro", "all-of-it", "[filter \"x\"]\n\tclean = EVIL\n").with(func(p *prey) {
		p.write(filepath.Join(p.tree, ".gitattributes"), "[attr]all-of-it filter=x\n* all-of-it\n")
	}),
	filter("by info/attributes", "-filter", "[filter \"x\"]\n\tclean = EVIL\n").with(func(p *prey) {
		p.write(filepath.Join(p.common, "info", "attributes"), "* filter=x\n")
	}),
	filter("by core.attributesFile", "text", "[filter \"x\"]\n\tclean = EVIL\n").with(func(p *prey) {
		p.write(filepath.Join(p.tree, "more"), "* filter=x\n")
		p.git(p.main, "config", "core.attributesFile", filepath.Join(p.tree, "more"))
	}),
	included("by path", "[include]"),
	included("by folder", "[includeIf \"gitdir:DIR/**\"]"),
	included("by branch", "[includeIf \"onbranch:work\"]"),
	included("by another setting", "[includeIf \"hasconfig:remote.*.url:https://example.org/**\"]"),
	{"the worktree's own configuration", func(p *prey) {
		p.write(filepath.Join(p.tree, ".gitattributes"), "* filter=x\n")
		p.add(filepath.Join(p.common, "config"), "[extensions]\n\tworktreeConfig = true\n")
		p.write(filepath.Join(p.admin, "config.worktree"), "[filter \"x\"]\n\tclean = "+p.evil+"\n")
	}, true},
	{"the user's own filter, asked for by the repository", func(p *prey) {
		p.write(filepath.Join(p.tree, ".gitattributes"), "* filter=lfs\n")
		p.add(filepath.Join(p.home, ".gitconfig"), "[filter \"lfs\"]\n\tclean = "+p.evil+"\n\tprocess = "+p.evil+"\n\trequired = true\n")
		p.add(filepath.Join(p.common, "config"), "[lfs \"extension.x\"]\n\tclean = "+p.evil+"\n\tpriority = 0\n")
	}, true},
	config("[core]\n\tfsmonitor = EVIL\n", true),
	config("[core]\n\tfsmonitor = true\n", false),
	config("[core]\n\tfsmonitor = EVIL\n\tfsmonitorHookVersion = 1\n\tuntrackedCache = true\n", false),
	config("[core]\n\tpager = EVIL\n[pager]\n\tstatus = EVIL\n", false),
	config("[core]\n\tsshCommand = EVIL\n\tgitProxy = EVIL\n\taskPass = EVIL\n\teditor = EVIL\n", false),
	config("[core]\n\talternateRefsCommand = EVIL\n", false),
	config("[credential]\n\thelper = EVIL\n", false),
	config("[diff]\n\texternal = EVIL\n[diff \"x\"]\n\tcommand = EVIL\n\ttextconv = EVIL\n", false),
	config("[merge \"x\"]\n\tdriver = EVIL\n[mergetool \"x\"]\n\tcmd = EVIL\n", false),
	config("[alias]\n\tstatus = !EVIL\n\trev-list = !EVIL\n\tcheck-attr = !EVIL\n", false),
	config("[gpg]\n\tprogram = EVIL\n[log]\n\tshowSignature = true\n", false),
	config("[uploadpack]\n\tpackObjectsHook = EVIL\n[sequence]\n\teditor = EVIL\n[trailer \"x\"]\n\tcommand = EVIL\n", false),
	config("[submodule]\n\trecurse = true\n[status]\n\tsubmoduleSummary = true\n[diff]\n\tsubmodule = log\n", false),
	config("[trace2]\n\teventTarget = MARK\n\tnormalTarget = MARK\n", false),
	{"configuration: another folder for hooks", func(p *prey) {
		for _, name := range []string{"post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"} {
			path := filepath.Join(p.dir, "hooks", name)
			executable.Write(p, path, "#!/bin/sh\necho hook >>'"+p.mark+"'\n")
		}
		p.git(p.main, "config", "core.hooksPath", filepath.Join(p.dir, "hooks"))
	}, true},
	hook("reference-transaction"), hook("fsmonitor-watchman"), hook("post-checkout"),
	{"hook: post-index-change", hook("post-index-change").set, true},
	{"partial clone whose remote is a program", func(p *prey) {
		p.git(p.main, "config", "core.repositoryFormatVersion", "1")
		p.git(p.main, "config", "extensions.partialClone", "o")
		p.add(filepath.Join(p.common, "config"), "[remote \"o\"]\n\turl = ext::"+p.evil+"\n\tpromisor = true\n[protocol]\n\tallow = always\n")
		tree := p.git(p.main, "rev-parse", "HEAD^{tree}")
		must.Do(p, os.Remove(filepath.Join(p.common, "objects", tree[:2], tree[2:])))
	}, true},
	{"submodule with a configuration of its own", func(p *prey) {
		sub := filepath.Join(p.dir, "sub")
		p.git(p.dir, "init", "-q", sub)
		p.write(filepath.Join(sub, "s.txt"), "s\n")
		p.git(sub, "add", ".")
		p.git(sub, "commit", "-qm", "sub")
		p.git(p.tree, "submodule", "add", "-q", sub, "sub")
		gitdir := p.git(filepath.Join(p.tree, "sub"), "rev-parse", "--absolute-git-dir")
		p.add(filepath.Join(gitdir, "config"), "[core]\n\tfsmonitor = "+p.evil+"\n[filter \"x\"]\n\tclean = "+p.evil+"\n")
		p.write(filepath.Join(p.tree, "sub", ".gitattributes"), "* filter=x\n")
	}, true},
	{"bare repository among the files", func(p *prey) {
		for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "refs/x": "", "objects/x": "",
			"config": "[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = " + p.evil + "\n"} {
			p.write(filepath.Join(p.tree, "inner", name), text)
		}
	}, false},
	{"nested repository among the untracked files", func(p *prey) {
		inner := filepath.Join(p.tree, "nested")
		p.git(p.dir, "init", "-q", inner)
		p.add(filepath.Join(inner, ".git", "config"), "[core]\n\tfsmonitor = "+p.evil+"\n")
		p.write(filepath.Join(inner, "x"), "x")
	}, false},
	environment("GIT_CONFIG_PARAMETERS", "'core.fsmonitor=EVIL'"),
	environment("GIT_EXTERNAL_DIFF", "EVIL"), environment("GIT_SSH_COMMAND", "EVIL"), environment("GIT_PAGER", "EVIL"),
	environment("GIT_TRACE", "MARK"), environment("GIT_TRACE2_EVENT", "MARK"), environment("GIT_TRACE_SETUP", "MARK"),
	environment("GIT_DIR", "DIR/none"), environment("GIT_WORK_TREE", "DIR"), environment("GIT_INDEX_FILE", "DIR/none"),
	environment("GIT_OBJECT_DIRECTORY", "DIR/none"), environment("GIT_CONFIG_GLOBAL", "DIR/global"), environment("GIT_EXEC_PATH", "DIR"),
}

func (v vector) with(more func(p *prey)) vector {
	set := v.set
	v.set = func(p *prey) {
		set(p)
		more(p)
	}
	return v
}

// TestAttackARepositoryThatNamesPrograms sets each trap by itself, looks at the worktree as a sweep does, and then has plain git
// fall into it, where it does.
func TestAttackARepositoryThatNamesPrograms(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	attack.WithoutRaces(t)
	a := attack.New(t, "a repository, the user's own configuration or the environment names a program for git to run")
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			p := newPrey(t)
			t.Setenv("HOME", p.home)
			t.Setenv("XDG_CONFIG_HOME", "")
			v.set(p)
			p.touch()
			_ = p.ran()
			_, w, err := p.look()
			if rev, err := revision.Find(t.Context(), git.NewFinder(), git.Program{}, p.tree, "HEAD"); err == nil {
				_, _ = rev.Files(t.Context(), "", revision.Reading{Names: 100, Bytes: 1 << 20, File: 1 << 20})
			}
			ran := p.ran()
			switch {
			case ran != "":
				a.Lost("%s: something ran: %s", v.name, ran)
			case w != nil && w.Head == "" && err == nil:
				a.Lost("%s: the look is empty and nothing says why", v.name)
			default:
				a.Held()
			}
			if out, err := p.try(p.tree, "status"); v.bites && p.ran() == "" {
				t.Errorf("%s: plain git does not run it either, so this shows nothing: %v\n%s", v.name, err, out)
			}
		})
	}
}

// TestAttackAConfigurationThatIsSwapped changes the configuration between a harmless and a hostile one as fast as it can.
func TestAttackAConfigurationThatIsSwapped(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	p := newPrey(t)
	t.Setenv("HOME", p.home)
	a := attack.New(t, "the repository's configuration is swapped between our reading and git's")
	p.write(filepath.Join(p.tree, ".gitattributes"), "* filter=x\n")
	path := filepath.Join(p.common, "config")
	honest := must.Get(os.ReadFile(path))(t)
	hostile := string(honest) + fmt.Sprintf("[filter \"x\"]\n\tclean = %s\n[core]\n\tfsmonitor = %s\n", p.evil, p.evil)
	p.touch()
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond): // the machine is shared
			}
			text := string(honest)
			if i%2 == 0 {
				text = hostile
			}
			next := path + ".next"
			if os.WriteFile(next, []byte(text), 0o600) == nil {
				_ = os.Rename(next, path)
			}
		}
	})
	const trials = 500
	answered := 0
	for range trials {
		_, w, err := p.look()
		if err == nil && w != nil {
			answered++
		}
		if ran := p.ran(); ran != "" {
			a.Lost("something ran: %s", ran)
			continue
		}
		a.Held()
	}
	close(done)
	swapping.Wait()
	if answered < trials*9/10 {
		t.Errorf("only %d of %d looks were answered, so this shows little", answered, trials)
	}
}
