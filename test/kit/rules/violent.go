package rules

import (
	"fmt"
	"maps"
	"strings"
)

// shared is a list of two that are the same list of two, and so on: some hundred bytes of memory, and 2^n members when it is walked.
func shared(name string, n int) string {
	lines := []string{name + `0 := [input.id]`}
	for i := 1; i <= n; i++ {
		lines = append(lines, fmt.Sprintf("%s%d := [%s%d | some _ in [1, 2]]", name, i, name, i-1))
	}
	return strings.Join(lines, "\n\t")
}

// Digits begins a rule with ten of them.
const Digits = "xs := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\t"

// LongText is a text of a few megabytes in a variable, made in a moment.
var LongText = strings.TrimSuffix(strings.Join(strings.Split(Doubled(`concat("", [s%d, s%d])`), "\n\t")[:19], "\n\t"), "\n\t")

// Violent are rules that take memory or time in one step, where no watchdog looks, or in what is done with their answer. %s of the
// evidence is what the rule gives.
var Violent = map[string]struct{ Body, Evidence string }{
	"sprintf wide":                  {`x := sprintf("` + strings.Repeat("%999999d", 2000) + `", [` + strings.TrimSuffix(strings.Repeat("1,", 2000), ",") + `])`, `count(x)`},
	"sprintf of a huge number":      {`x := sprintf("%d %x %.999999f", [1` + strings.Repeat("0", 250) + `, 7, 1e300])`, "count(x)"},
	"sprintf many times":            {`x := sprintf("` + strings.Repeat("%[1]s", 2000) + `", [s18])`, "count(x)"},
	"concat of one text":            {"x := concat(s18, split(s18, \"\"))", "count(x)"},
	"replace each by all":           {"x := replace(s18, \"0\", s18)", "count(x)"},
	"split into characters":         {"x := split(s18, \"\")", "count(x)"},
	"split and split":               {"x := [split(s18, \"\") | some _ in xs; some _ in xs]", "count(x)"},
	"template of one text":          {"x := $\"" + strings.Repeat("{s18}", 500) + "\"", "count(x)"},
	"upper of long texts":           {"x := [upper(s18) | some _ in xs; some _ in xs; some _ in xs]", "count(x)"},
	"array.concat of itself":        {"y0 := split(s18, \"\")\n\ty1 := array.concat(y0, y0)\n\ty2 := array.concat(y1, y1)\n\ty3 := array.concat(y2, y2)\n\ty4 := array.concat(y3, y3)\n\ty5 := array.concat(y4, y4)\n\tx := array.concat(y5, y5)", "count(x)"},
	"union of sets":                 {"x := union({{[a, b, c, d, e] | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs}})", "count(x)"},
	"a set of pairs and another":    {"p := {[a, b, c, d] | some a in xs; some b in xs; some c in xs; some d in xs}\n\tx := p & {[d, c, b, a] | some a in xs; some b in xs; some c in xs; some d in xs}", "count(x)"},
	"sort":                          {"x := sort(split(s18, \"\"))", "count(x)"},
	"shared lists compared":         {shared("a", 60) + "\n\t" + shared("b", 60) + "\n\ta60 == b60\n\tx := 1", "x"},
	"shared lists as evidence":      {shared("a", 60) + "\n\tx := a60", "x"},
	"shared lists sorted":           {shared("a", 60) + "\n\t" + shared("b", 60) + "\n\tx := sort([a60, b60])", "count(x)"},
	"shared lists in a message":     {shared("a", 60) + "\n\tx := $\"{a60}\"", "count(x)"},
	"shared lists by sprintf":       {shared("a", 60) + "\n\tx := sprintf(\"%v\", [a60])", "count(x)"},
	"long evidence":                 {"x := s18", "x"},
	"many reasons":                  {"some a in xs\n\tsome b in xs\n\tsome c in xs\n\tx := [a, b, c]", "x"},
	"a regular expression":          {"regex.match(`" + strings.Repeat("(a*)*", 100) + "(x{1000})b`, s18) == false\n\tx := 1", "x"},
	"many regular expressions":      {"x := [m | some a in xs; some b in xs; some c in xs; some d in xs; m := regex.match($\"({a}{b}{c}{d}[a-z]{{500}}){{2}}\", s18)]", "count(x)"},
	"a glob":                        {"x := glob.match(\"" + strings.Repeat("*?", 60) + "zz\", [], s18)", "x"},
	"a glob of alternatives":        {"x := glob.match(\"" + strings.Repeat("{a,b,c,*}", 60) + "zz\", [], s18)", "x"},
	"indexof":                       {"x := [indexof(s18, $\"{a}{b}{c}zz\") | some a in xs; some b in xs; some c in xs]", "count(x)"},
	"any prefix":                    {"ys := split(s18, \"\")\n\tx := strings.any_prefix_match(ys, array.concat(ys, [\"no\"]))", "x"},
	"trim":                          {"x := [trim(s18, s18) | some a in xs; some b in xs; some c in xs; some d in xs]", "count(x)"},
	"substring":                     {"x := [substring(s18, a + 1, -1) | some a in xs; some b in xs; some c in xs; some d in xs]", "count(x)"},
	"format_int":                    {"x := [format_int(a + b + c, 2) | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; some f in xs; some g in xs]", "count(x)"},
	"sums without an end":           {"x := count([s | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; some f in xs; some g in xs; s := a + b + c + d + e + f + g])", "x"},
	"keys of an object":             {"x := object.keys({$\"{a}{b}{c}{d}{e}{f}\": s18 | some a in xs; some b in xs; some c in xs; some d in xs; some e in xs; some f in xs})", "count(x)"},
	"every of every without an end": {"every a in xs {\n\t\tevery b in xs {\n\t\t\tcount([1 | some c in xs; some d in xs; some e in xs; some f in xs; some g in xs; some h in xs]) > a - b - 1\n\t\t}\n\t}\n\tx := 1", "x"},
}

// ViolentRule is a rule that does that to one candidate.
func ViolentRule(name string) map[string]string {
	v := Violent[name]
	body := v.Body
	if strings.Contains(body+v.Evidence, "s18") {
		body = LongText + "\n\t" + body
	}
	if strings.Contains(body, "in xs") {
		body = Digits + body
	}
	return map[string]string{"reap/dirs/mine/mine.rego": fmt.Sprintf(`package policies.reap.dirs.mine

in_scope if input.dir.name != ""

findings contains {"rule": "reap.dirs.mine", "message": "mine", "evidence": {"x": %s}} if {
	input.dir.name == "bad-review-0000000b"
	%s
}
`, v.Evidence, body)}
}

// Lib is a file of helpers beside a rule that Asks one of them, called top.
func Lib(text string) map[string]string {
	files := maps.Clone(Finding("data.policies.lib.x.top"))
	files["lib/x/x.rego"] = "package policies.lib.x\n\n" + text
	return files
}

// Diamond is n helpers, each of which Asks the next one twice.
func Diamond(n int, name, first, step string) string {
	lines := []string{fmt.Sprintf(first, name)}
	for i := 1; i <= n; i++ {
		lines = append(lines, strings.NewReplacer("N", fmt.Sprint(name, i), "P", fmt.Sprint(name, i-1)).Replace(step))
	}
	return strings.Join(lines, "\n\n") + "\n"
}

// Asks is a rule that asks a diamond of n helpers.
func Asks(n int) string {
	return Diamond(n, "h", "%s0 if input.dir.name != \"\"", "N if {\n\tP\n\tP\n}") + fmt.Sprintf("\ntop if h%d\n", n)
}
