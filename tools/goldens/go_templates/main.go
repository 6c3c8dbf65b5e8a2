// Goldens of Go templates: what Ollama's own packages make of templates and conversations.
//
// usage: copy this folder into a checkout of Ollama (its packages template and api are used), then
//
//	there:  go run ./go_templates FOLDER [TEMPLATE...]
//
// FOLDER is crates/chat/tests. Renders every templates/*.gotmpl of it and every row of
// golden/go_rows.json over the conversations of golden/conversations.json, and writes
// golden/go_templates.json. Further templates (files) are rendered instead and printed.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sort"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/template"
)

type conversation struct {
	Name     string `json:"name"`
	Messages []struct {
		Role       string `json:"role"`
		Content    string `json:"content"`
		Reasoning  string `json:"reasoning"`
		Name       string `json:"name"`
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools     json.RawMessage `json:"tools"`
	Variables map[string]any  `json:"variables"`
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// values gives a conversation as Ollama takes it.
func values(given conversation) template.Values {
	var out template.Values
	for _, m := range given.Messages {
		message := api.Message{Role: m.Role, Content: m.Content, Thinking: m.Reasoning}
		if m.Role == "tool" {
			message.ToolName, message.ToolCallID = m.Name, m.ToolCallID
		}
		for index, c := range m.ToolCalls {
			arguments := c.Arguments
			var text string
			if json.Unmarshal(arguments, &text) == nil {
				arguments = []byte(text)
			}
			call := api.ToolCall{ID: c.ID}
			call.Function.Index, call.Function.Name = index, c.Name
			if err := json.Unmarshal(arguments, &call.Function.Arguments); err != nil {
				log.Fatal(err)
			}
			message.ToolCalls = append(message.ToolCalls, call)
		}
		out.Messages = append(out.Messages, message)
	}
	if given.Tools != nil {
		if err := json.Unmarshal(given.Tools, &out.Tools); err != nil {
			log.Fatal(given.Name, ": ", err)
		}
	}
	if think, ok := given.Variables["enable_thinking"].(bool); ok {
		out.Think, out.IsThinkSet = think, true
	}
	if level, ok := given.Variables["reasoning_effort"].(string); ok {
		if !out.IsThinkSet {
			out.Think, out.IsThinkSet = true, true
		}
		if out.Think {
			out.ThinkLevel = level
		}
	}
	return out
}

type result map[string]string

func render(source string, given conversation) (out result) {
	parsed, err := template.Parse(source)
	if err != nil {
		return result{"error": "parse"}
	}
	defer func() {
		if recover() != nil {
			out = result{"error": "panic"}
		}
	}()
	var text bytes.Buffer
	if err := parsed.Execute(&text, values(given)); err != nil {
		return result{"error": "execute"}
	}
	return result{"text": text.String()}
}

func main() {
	folder := os.Args[1]
	sources := map[string]string{}
	for _, path := range must(filepath.Glob(filepath.Join(folder, "templates", "*.gotmpl"))) {
		sources[filepath.Base(path)] = string(must(os.ReadFile(path)))
	}
	rows := map[string]string{}
	path := filepath.Join(folder, "golden", "go_rows.json")
	if err := json.Unmarshal(must(os.ReadFile(path)), &rows); err != nil {
		log.Fatal(err)
	}
	var all []conversation
	path = filepath.Join(folder, "golden", "conversations.json")
	if err := json.Unmarshal(must(os.ReadFile(path)), &all); err != nil {
		log.Fatal(err)
	}
	if len(os.Args) > 2 {
		sources, rows = map[string]string{}, nil
		for _, path := range os.Args[2:] {
			sources[path] = string(must(os.ReadFile(path)))
		}
	}
	names := []string{}
	for name := range sources {
		names = append(names, name)
	}
	sort.Strings(names)
	var out bytes.Buffer
	write := func(value any) string {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			log.Fatal(err)
		}
		return string(bytes.TrimSpace(text.Bytes()))
	}
	out.WriteString("{")
	for at, name := range names {
		if at > 0 {
			out.WriteString(",")
		}
		fmt.Fprintf(&out, "\n %s: {", write(name))
		for at, given := range all {
			if at > 0 {
				out.WriteString(",")
			}
			fmt.Fprintf(&out, "\n  %s: %s", write(given.Name), write(render(sources[name], given)))
		}
		out.WriteString("\n }")
	}
	// Rows are small; one conversation shows what they do.
	names = names[:0]
	for name := range rows {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, given := range all {
		if given.Name != "calls again" {
			continue
		}
		for _, name := range names {
			fmt.Fprintf(&out, ",\n %s: %s", write("row: "+name), write(render(rows[name], given)))
		}
	}
	out.WriteString("\n}\n")
	if len(os.Args) > 2 {
		fmt.Print(out.String())
		return
	}
	path = filepath.Join(folder, "golden", "go_templates.json")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}
