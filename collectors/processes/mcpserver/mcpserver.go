// Package mcpserver says by the files of a program whether it is an MCP server that speaks over its standard input: by what they import, and by
// what the program's project or environment has. What cannot be read or followed counts as another program. So does one that may also be an agent: it
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

// Files reads a file of the program at an absolute path. A missing one, and a folder, is fs.ErrNotExist.
type Files func(path string) ([]byte, error)

// maxFiles is how many files of its own a program may have.
const maxFiles = 64

const sdk = "@modelcontextprotocol/sdk"

// libraries are how the names of packages begin that agents are built with, and that speak with models.
var libraries = []string{"openai", "@openai/", "@anthropic-ai/", "anthropic", "claude_", "@ai-sdk/", "langchain", "@langchain/", "langgraph", "llama", "ollama",
	"litellm", "pydantic_ai", "crewai", "autogen", "smolagents", "@mastra/", "google.gen", "@google/gen", "groq", "mistral", "@mistralai/", "cohere",
	"@github/copilot", "@modelcontextprotocol/client"}

// program is one whose files are followed from import to import. others are the packages of known agents.
type program struct {
	read   Files
	others []string
	// imports are those of a text, opaque is what may import something that they do not show.
	imports func(text string) []string
	opaque  *regexp.Regexp
	// files are where an import of a file may lie; one of them must be there where it is must. An import without such a file is of another package.
	files func(from, name string) (at []string, must bool)
	// server are imports that only a server needs, client those of what speaks with servers.
	server, client *regexp.Regexp
}

// Node reports whether a file that Node or Bun runs is a server: the package that it belongs to, by the nearest package.json, depends on the SDK.
func Node(read Files, file string, agents []string) bool {
	p := program{read, agents, nodeImports, nodeOpaque, nodeFiles, nodeServer, nodeClient}
	return p.dependsOn(path.Dir(file)) && p.serves(file)
}

// Python reports whether a script is a server, in the environment that has these site-packages: the SDK is in there.
func Python(read Files, file, packages string, agents []string) bool {
	root := path.Dir(file)
	files := func(from, name string) ([]string, bool) { return pythonFiles(root, from, name), false }
	_, err := read(path.Join(packages, "mcp/server/stdio.py"))
	return err == nil && program{read, agents, pythonImports, pythonOpaque, files, pythonServer, pythonClient}.serves(file)
}

func (p program) dependsOn(folder string) bool {
	var manifest struct {
		Name         string
		Dependencies map[string]any
	}
	text, err := p.read(path.Join(folder, "package.json"))
	if errors.Is(err, fs.ErrNotExist) && folder != "/" {
		return p.dependsOn(path.Dir(folder))
	}
	if err != nil || json.Unmarshal(text, &manifest) != nil || manifest.Dependencies[sdk] == nil || p.agentic(manifest.Name) {
		return false
	}
	for name := range manifest.Dependencies {
		if p.agentic(name) {
			return false
		}
	}
	return true
}

// agentic reports whether a package is an agent's, or one that agents are built with.
func (p program) agentic(name string) bool {
	begins := func(with string) bool { return strings.HasPrefix(name, with) }
	return name == "ai" || name == "agents" || slices.ContainsFunc(libraries, begins) || slices.ContainsFunc(p.others, func(other string) bool {
		return name == other || begins(other+"/") || begins(other+".")
	})
}

// serves follows the imports of a program's file.
func (p program) serves(file string) bool {
	server, open, seen := false, []string{file}, map[string]bool{file: true}
	for ; len(open) > 0; open = open[1:] {
		text, err := p.read(open[0])
		if err != nil || len(seen) > maxFiles || p.opaque.Match(text) {
			return false
		}
		for _, name := range p.imports(string(text)) {
			if p.client.MatchString(name) || p.agentic(name) {
				return false
			}
			at, must := p.files(open[0], name)
			found := slices.DeleteFunc(at, func(file string) bool {
				_, err := p.read(file)
				return errors.Is(err, fs.ErrNotExist)
			})
			if must && len(found) == 0 {
				return false
			}
			server = server || len(found) == 0 && p.server.MatchString(name)
			for _, file := range found {
				if !seen[file] {
					open, seen[file] = append(open, file), true
				}
			}
		}
	}
	return server
}

var (
	nodeImport = regexp.MustCompile("(?:\\bfrom|\\bimport|\\brequire)\\s*\\(?\\s*[\"'`]([^\"'`\n]+)[\"'`]")
	nodeOpaque = regexp.MustCompile("\\b(?:import|require)\\(\\s*[^\\s\"'`)]|\\bimport\\([^)]*\\$\\{|\\bnew Worker\\(|\\beval\\(")
	nodeServer = regexp.MustCompile(`^@modelcontextprotocol/sdk/(?:dist/\w+/)?server/stdio(?:\.js)?$`)
	nodeClient = regexp.MustCompile(`^@modelcontextprotocol/sdk$|^@modelcontextprotocol/.*client`)

	pythonImport = regexp.MustCompile(`(?m)(?:^|[;:])[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]+)|import[ \t]+([^\n#;]+))`)
	pythonOpaque = regexp.MustCompile(`\b(?:__import__|importlib|runpy|exec|eval|ClientSession|(?:stdio|sse|\w*http|websocket)_client)\b|\bfastmcp\.Client\b`)
	pythonServer = regexp.MustCompile(`^mcp\.server\b|^fastmcp\.(?:FastMCP|server)\b`)
	pythonClient = regexp.MustCompile(`^(?:mcp|fastmcp)\b.*(?:[cC]lient|StdioServerParameters|\*)`)
)

func nodeImports(text string) (names []string) {
	for _, m := range nodeImport.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// nodeFiles are where Node, Bun and tsx find a file. What is no program's text is not followed.
func nodeFiles(from, name string) (at []string, must bool) {
	if !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "/") || strings.HasSuffix(name, ".json") {
		return nil, false
	}
	name = path.Join(path.Dir(from), name)
	if strings.HasPrefix(name, "/") {
		stem := strings.TrimSuffix(name, ".js")
		at = []string{stem + ".js", stem + ".ts", name, name + ".mjs", name + ".cjs", name + "/index.js", name + "/index.ts"}
	}
	return at, true
}

// pythonImports has the names that are imported from a module below it as well: each may be a module.
func pythonImports(text string) (names []string) {
	split := func(list string) []string {
		return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("(), \t\r\n\\", r) })
	}
	for _, m := range pythonImport.FindAllStringSubmatch(text, -1) {
		names = append(names, split(m[1])...)
		names = append(names, split(m[3])...)
		for _, name := range split(m[2]) {
			names = append(names, strings.TrimSuffix(m[1], ".")+"."+name)
		}
	}
	return names
}

// pythonFiles are those of a module and of the packages that it lies in, below the script's folder.
func pythonFiles(root, from, name string) (at []string) {
	module := strings.TrimLeft(name, ".")
	if dots := len(name) - len(module); dots > 0 {
		root = path.Join(path.Dir(from), strings.Repeat("../", dots-1))
	}
	for part := range strings.SplitSeq(module, ".") {
		root = path.Join(root, part)
		at = append(at, root+".py", root+"/__init__.py")
	}
	return at
}
