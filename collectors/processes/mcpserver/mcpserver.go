// Package mcpserver says by the files of a program whether it is an MCP server that speaks over its standard input: by what they import, and by
// what the program's package or environment has. What cannot be read or followed counts as another program. So does one that may also be an agent: it
// imports the client's half of the SDK, or a library for agents or models.
package mcpserver

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Program is one whose files are followed from import to import. Read reads a file at an absolute path; a missing one, and a folder, is
// fs.ErrNotExist. Agents are the packages of known agents.
type Program struct {
	Read   func(path string) ([]byte, error)
	Agents []string
}

// maxFiles is how many files of its own a program may have.
const maxFiles = 64

// libraries are how the names of packages begin that agents are built with, and that speak with models.
var libraries = []string{"openai", "@openai/", "@anthropic-ai/", "anthropic", "claude_", "@ai-sdk/", "langchain", "@langchain/", "langgraph", "llama", "ollama",
	"litellm", "pydantic_ai", "crewai", "autogen", "smolagents", "@mastra/", "google.gen", "@google/gen", "groq", "mistral", "@mistralai/", "cohere", "@github/copilot"}

// language says what a file imports (a module, and names of that which may be modules too), and which imports only a server needs. Other are those of what
// may be a client, or lead to files that are not known; opaque is code that may import what it does not name.
type language struct {
	imports, server, other, opaque *regexp.Regexp
	// files are where a module may lie. Without such a file it is of another package, unless it is strict and the module is relative.
	files  func(root, from, module string) []string
	strict bool
}

var (
	node = language{
		imports: regexp.MustCompile("(?:\\bfrom|\\bimport|\\brequire)\\s*\\(?\\s*[\"'`]([^\"'`\n]+)[\"'`]()"),
		server:  regexp.MustCompile(`^@modelcontextprotocol/sdk/(?:dist/\w+/)?server/stdio(?:\.js)?$`),
		other:   regexp.MustCompile(`^@modelcontextprotocol/sdk$|^@modelcontextprotocol/.*client|^[#~/]|^@/|^file:`),
		opaque:  regexp.MustCompile("\\b(?:import|require)\\(\\s*[^\\s\"'`)]|\\bimport\\([^)]*\\$\\{|\\bnew Worker\\(|\\beval\\("),
		files:   nodeFiles, strict: true,
	}
	python = language{
		imports: regexp.MustCompile(`(?m)(?:^|[;:])[ \t]*(?:from[ \t]+([.\w]+)[ \t]+)?import[ \t]*(\([^)]*\)|[^\n#;]+)`),
		server:  regexp.MustCompile(`^mcp\.server\b|^fastmcp\.(?:FastMCP|server)\b`),
		other:   regexp.MustCompile(`^(?:mcp|fastmcp)\b.*(?:[cC]lient|StdioServerParameters|\*)`),
		opaque:  regexp.MustCompile(`\b(?:__import__|importlib|runpy|exec|eval|ClientSession|(?:stdio|sse|\w*http|websocket)_client)\b|\bfastmcp\.Client\b`),
		files:   pythonFiles,
	}
)

// Node reports whether a file that Node or Bun runs is a server. Its package, by the nearest package.json, depends on the SDK.
func (p Program) Node(file string) bool {
	return p.dependsOnSDK(path.Dir(file)) && p.serves(node, file)
}

// Python reports whether a script is a server, in the environment that has these site-packages.
func (p Program) Python(file, packages string) bool {
	_, err := p.Read(path.Join(packages, "mcp/server/stdio.py"))
	return err == nil && p.serves(python, file)
}

func (p Program) dependsOnSDK(folder string) bool {
	text, err := p.Read(path.Join(folder, "package.json"))
	if errors.Is(err, fs.ErrNotExist) && folder != "/" {
		return p.dependsOnSDK(path.Dir(folder))
	}
	var manifest struct {
		Name         string
		Dependencies map[string]any
	}
	if err != nil || json.Unmarshal(text, &manifest) != nil || manifest.Dependencies["@modelcontextprotocol/sdk"] == nil {
		return false
	}
	manifest.Dependencies[manifest.Name] = ""
	for name := range manifest.Dependencies {
		if p.agentic(name) {
			return false
		}
	}
	return true
}

// agentic reports whether a package is an agent's, or one that agents are built with.
func (p Program) agentic(name string) bool {
	return name == "ai" || name == "agents" || slices.ContainsFunc(libraries, func(begins string) bool { return strings.HasPrefix(name, begins) }) ||
		slices.ContainsFunc(p.Agents, func(agent string) bool { return strings.HasPrefix(strings.Replace(name, ".", "/", 1)+"/", agent+"/") })
}

// serves follows the imports of a program's file.
func (p Program) serves(l language, file string) bool {
	root, server, open := path.Dir(file), false, []string{file}
	for at := 0; at < len(open); at++ {
		text, err := p.Read(open[at])
		if err != nil || at >= maxFiles || l.opaque.Match(text) {
			return false
		}
		for _, module := range l.modules(string(text)) {
			if l.other.MatchString(module) || p.agentic(module) {
				return false
			}
			found := slices.DeleteFunc(l.files(root, open[at], module), func(file string) bool {
				_, err := p.Read(file)
				return errors.Is(err, fs.ErrNotExist)
			})
			if len(found) == 0 && l.strict && module[0] == '.' {
				return false
			}
			server = server || len(found) == 0 && l.server.MatchString(module)
			for _, file := range found {
				if !slices.Contains(open, file) {
					open = append(open, file)
				}
			}
		}
	}
	return server
}

func (l language) modules(text string) (all []string) {
	for _, m := range l.imports.FindAllStringSubmatch(text, -1) {
		above := m[1]
		if above != "" {
			all = append(all, above)
			above = strings.TrimSuffix(above, ".") + "."
		}
		for _, name := range strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune("(), \t\r\n\\", r) }) {
			all = append(all, above+name)
		}
	}
	return all
}

// nodeFiles are where Node, Bun and tsx find a module.
func nodeFiles(_, from, module string) []string {
	if module[0] != '.' {
		return nil
	}
	at := path.Join(path.Dir(from), module)
	stem := strings.TrimSuffix(at, ".js")
	return []string{stem + ".js", stem + ".ts", at, at + ".mjs", at + ".cjs", at + "/index.js", at + "/index.ts"}
}

// pythonFiles are those of a module, and of the packages that it lies in, below the script's folder.
func pythonFiles(root, from, module string) (at []string) {
	name := strings.TrimLeft(module, ".")
	if dots := len(module) - len(name); dots > 0 {
		root = path.Join(path.Dir(from), strings.Repeat("../", dots-1))
	}
	for part := range strings.SplitSeq(name, ".") {
		root = path.Join(root, part)
		at = append(at, root+".py", root+"/__init__.py")
	}
	return at
}
