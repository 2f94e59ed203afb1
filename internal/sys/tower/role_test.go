package tower

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormal(t *testing.T) {
	t.Parallel()
	for spelling, want := range map[string]string{
		"builder-pir-883":             "builder-pir-883",
		"builder-pir-0883":            "builder-pir-883",
		"BUILDER-Pir-883":             "builder-pir-883",
		"builder-builder-pir-883":     "builder-pir-883",
		"Builder-builder-PIR-000883 ": "builder-pir-883",
		"dev-builder-pir-883":         "builder-pir-883",
		"builder-task-AbCd":           "builder-task-abcd",
		"builder-task-0a1":            "builder-task-0a1",
		"builder-spec-0":              "builder-spec-0",
		"builder-spec-000":            "builder-spec-0",
		"worktree-X":                  "worktree-x",
		"builder-worktree-x":          "worktree-x",
		"dev-worktree-x":              "worktree-x",
		"dev-tools":                   "dev-tools",
		"shell-1":                     "shell-1",
		"main":                        "main",
		"":                            "",
	} {
		if got := Normal(spelling); got != want {
			t.Errorf("%q is %q, want %q", spelling, got, want)
		}
	}
	for _, pair := range [][2]string{
		{"builder-pir-883", "builder-pir-88"}, {"builder-pir-883", "builder-pir-8830"}, {"builder-pir-1", "builder-bugfix-1"},
		{"builder-task-abcd", "worktree-abcd"}, {"builder-pir-0", "builder-pir"},
	} {
		if RoleKey(pair[0]) == RoleKey(pair[1]) {
			t.Errorf("%v are one", pair)
		}
	}
}

// Every way in which Codev itself writes a builder's id is the same key.
func FuzzNormal(f *testing.F) {
	for _, seed := range []string{"pir-883", "task-AbCd", "0126", "bugfix-000", "x", "builder-", "dev-builder-", "--0", "İ-00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		role := "builder-" + id
		want := Normal(role)
		if Normal(want) != want {
			t.Errorf("%q is %q, and that %q", role, want, Normal(want))
		}
		if RoleKey(want) != RoleKey(role) {
			t.Errorf("%q is found as %q", role, RoleKey(want))
		}
		for _, spelling := range []string{"builder-" + role, "dev-" + role, "builder-builder-" + role} {
			if Normal(spelling) != want || RoleKey(spelling) != RoleKey(role) {
				t.Errorf("%q is %q, %q is %q", spelling, Normal(spelling), role, want)
			}
		}
		if isASCII(id) && RoleKey(strings.ToUpper(role)) != RoleKey(role) {
			t.Errorf("%q in capitals is %q", role, RoleKey(strings.ToUpper(role)))
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// As worktreeNameToRoleId of Codev's overview.ts has it.
func TestRoleOfAFolder(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"pir-883-slug": "builder-pir-883", "PIR-0883": "builder-pir-883", "bugfix-799-fix-it": "builder-bugfix-799", "task-AbCd": "builder-task-abcd",
		"worktree-x1": "worktree-x1", "0003-feature": "", "x": "", "": "", ".": "", "-7": "", "pir_7": "",
	} {
		if got := RoleOf(folder); got != want {
			t.Errorf("%q: %q, want %q", folder, got, want)
		}
	}
}

func TestTabBuilder(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][4]string{
		"Codev: builder-pir-883":              {KindBuilder, "builder-pir-883", "pir-883", "true"},
		"Codev: Builder-PIR-0883":             {KindBuilder, "builder-pir-883", "pir-883", "true"},
		"Codev: builder-builder-pir-883":      {KindBuilder, "builder-pir-883", "pir-883", "true"},
		"Codev: worktree-try":                 {KindBuilder, "worktree-try", "worktree-try", "true"},
		"Dev: builder-pir-883":                {KindDev, "builder-pir-883", "pir-883", "true"},
		"Codev: Dev: builder-pir-883":         {KindDev, "builder-pir-883", "pir-883", "true"},
		"Codev: dev-builder-pir-883":          {KindBuilder, "builder-pir-883", "pir-883", "true"},
		"Codev: Shell #1":                     {"", "", "", "false"},
		"Codev: Architect":                    {"", "", "", "false"},
		"Codev: pir-883":                      {"", "", "", "false"},
		"Codev: builder-":                     {"", "", "", "false"},
		"Codev: builder-x and something else": {"", "", "", "false"},
		"builder-pir-883":                     {"", "", "", "false"},
		"Dev: ":                               {"", "", "", "false"},
		"":                                    {"", "", "", "false"},
	} {
		kind, id, key, ok := TabBuilder(name)
		if got := [4]string{kind, id, key, strconv.FormatBool(ok)}; got != want {
			t.Errorf("%q: want %q, got %q", name, want, got)
		}
	}
}

// TestWhatAKeyLooksLike holds the loops against the regular expressions that they stand for.
func TestWhatAKeyLooksLike(t *testing.T) {
	t.Parallel()
	forms := map[string]func(string) bool{`^[0-9a-fA-F]{64}$`: inFile, `^[!-~]{1,512}$`: inEnv}
	hex := strings.Repeat("0123456789abcDEF", 4)
	texts := []string{"", "\n", hex, hex + "\n", hex + "0", hex[1:], "g" + hex[1:], hex[1:] + "g", hex[:30] + "-" + hex[31:], strings.Repeat("a", 512), strings.Repeat("a", 513),
		"a b", "a\x00", "ä", "a\xff", "\u2028", "~!", "\x7f", " "}
	for c := range 256 {
		texts = append(texts, string(rune(c)), string([]byte{byte(c)}), "a"+string([]byte{byte(c)})+"b", hex[:63]+string([]byte{byte(c)}))
	}
	for form, is := range forms {
		re := regexp.MustCompile(form)
		for _, text := range texts {
			if want := re.MatchString(text); is(text) != want {
				t.Errorf("%s of %q: %v, want %v", form, text, !want, want)
			}
		}
	}
}
