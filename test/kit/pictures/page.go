package pictures

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Page draws a page of HTML with its styles, as a browser of that size shows it.
func Page(title, html, css string, width, height int) ([]byte, error) {
	body, err := xhtml(html)
	if err != nil {
		return nil, fmt.Errorf("draw %s: %w", title, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", width, height, width, height, escape(title))
	fmt.Fprintf(&b, "<title>%s</title>\n<style><![CDATA[\n%s]]></style>\n", escape(title), css)
	fmt.Fprintf(&b, "<foreignObject width=\"%d\" height=\"%d\">\n%s</foreignObject>\n</svg>\n", width, height, body)
	return []byte(b.String()), nil
}

// unseen are elements without which a page looks the same.
var unseen = []string{"head", "script", "datalist", "template"}

var spaces = map[string]string{"html": "http://www.w3.org/1999/xhtml", "svg": "http://www.w3.org/2000/svg"}

// xhtml writes HTML as XML, without what is not seen.
func xhtml(html string) (string, error) {
	d := xml.NewDecoder(strings.NewReader(html))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var b strings.Builder
	hidden := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if hidden > 0 || slices.Contains(unseen, t.Name.Local) {
				hidden++
				continue
			}
			b.WriteString("<" + t.Name.Local)
			if space := spaces[t.Name.Local]; space != "" { // HTML gives these by itself
				b.WriteString(` xmlns="` + space + `"`)
			}
			for _, a := range t.Attr {
				if a.Name.Local == "xmlns" {
					continue
				}
				if !slices.Contains([]string{"href", "action", "value", "onclick"}, a.Name.Local) || a.Name.Local == "value" && t.Name.Local == "input" && !secret(t) {
					fmt.Fprintf(&b, ` %s="%s"`, a.Name.Local, escape(a.Value))
				} else if a.Name.Local == "href" {
					b.WriteString(` href="#"`)
				}
			}
			b.WriteString(">")
		case xml.EndElement:
			if hidden > 0 {
				hidden--
				continue
			}
			b.WriteString("</" + t.Name.Local + ">")
		case xml.CharData:
			if hidden == 0 {
				b.WriteString(escape(blanks.ReplaceAllString(string(t), " ")))
			}
		}
	}
}

var blanks = regexp.MustCompile(`\s+`)

// secret reports whether an input has a value that no person sees.
func secret(t xml.StartElement) bool {
	return slices.ContainsFunc(t.Attr, func(a xml.Attr) bool { return a.Name.Local == "type" && a.Value == "hidden" })
}

// code is put aside before the other forms of a line of Markdown are looked for: nothing in it is anything else.
var code = regexp.MustCompile("`[^`]+`")

var inline = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`\*\*([^*]+)\*\*`), "<strong>$1</strong>"},
	{regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`), `<a href="#">$1</a>`},
}

func inlines(s string) string {
	var codes []string
	s = code.ReplaceAllStringFunc(s, func(c string) string {
		codes = append(codes, "<code>"+plain.Replace(strings.Trim(c, "`"))+"</code>")
		return "\x00"
	})
	s = plain.Replace(s)
	for _, f := range inline {
		s = f.find.ReplaceAllString(s, f.put)
	}
	for _, c := range codes {
		s = strings.Replace(s, "\x00", c, 1)
	}
	return strings.ReplaceAll(s, "&lt;br&gt;", "<br>")
}

var plain = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

var (
	heading = regexp.MustCompile(`^(#+) +(.*)$`)
	bullet  = regexp.MustCompile(`^( *)[-*] +(.*)$`)
	tag     = regexp.MustCompile(`^</?(details|summary)\b.*>`)
	alert   = regexp.MustCompile(`^\[!(\w+)]$`)
	small   = regexp.MustCompile(`&lt;sub&gt;(.*)&lt;/sub&gt;`)
	rule    = regexp.MustCompile(`^\|[-:| ]+\|$`)
)

// Markdown gives the HTML of a comment that winnow writes: headings, paragraphs, lists, tables, code, and what folds.
func Markdown(text string) string {
	var b strings.Builder
	open := ""
	begin := func(name string) {
		if open != name {
			if open != "" {
				b.WriteString("</" + open + ">\n")
			}
			if name != "" {
				b.WriteString("<" + name + ">")
			}
			open = name
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		row := strings.TrimSpace(line)
		switch m := heading.FindStringSubmatch(line); {
		case row == "":
			if open != "pre" {
				begin("")
			}
		case strings.HasPrefix(row, "<!--"), rule.MatchString(row):
		case m != nil:
			begin("")
			fmt.Fprintf(&b, "<h%[1]d>%[2]s</h%[1]d>\n", len(m[1]), inlines(m[2]))
		case strings.HasPrefix(row, "> "):
			begin("blockquote")
			b.WriteString(alert.ReplaceAllString(inlines(row[2:]), "<strong>$1</strong><br>") + "\n")
		case tag.MatchString(row):
			begin("")
			b.WriteString(row + "\n")
		case strings.HasPrefix(row, "|"):
			name := "td"
			if open != "table" {
				name = "th"
			}
			begin("table")
			b.WriteString("<tr>")
			for c := range strings.SplitSeq(strings.Trim(row, "|"), "|") {
				fmt.Fprintf(&b, "<%[1]s>%[2]s</%[1]s>", name, inlines(strings.TrimSpace(c)))
			}
			b.WriteString("</tr>\n")
		case bullet.MatchString(line):
			m := bullet.FindStringSubmatch(line)
			begin("ul")
			fmt.Fprintf(&b, "<li class=\"in%d\">%s</li>\n", len(m[1]), inlines(m[2]))
		case strings.HasPrefix(line, "    ") && open != "ul":
			begin("pre")
			b.WriteString(plain.Replace(line[4:]) + "\n")
		case open == "ul":
			fmt.Fprintf(&b, "<div>%s</div>\n", inlines(row))
		default:
			begin("p")
			b.WriteString(small.ReplaceAllString(inlines(row), "<sub>$1</sub>") + "\n")
		}
	}
	begin("")
	return "<html><body>" + b.String() + "</body></html>"
}
