package main

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// unsearched are folders of records that do not answer questions of users, and would hide the pages that do.
const unsearched = "originals/"

// searchData returns the data of the theme's search. Its order is that of the pages, which decides between equal matches. Each
// page has the texts of its sections by "anchor#heading". Each paragraph, item and row of a table is a line, because a result
// shows one line.
func searchData(pages []page, base string) (string, error) {
	at, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	type entry struct {
		Title string            `json:"title"`
		Data  map[string]string `json:"data"`
	}
	var parts []string
	for _, p := range pages {
		if p.place == "" || strings.HasPrefix(p.place, unsearched) {
			continue
		}
		raw, err := json.Marshal(entry{p.title, sections(p.text)})
		if err != nil {
			return "", err
		}
		route, err := json.Marshal(strings.TrimSuffix(at.Path, "/") + "/" + p.place)
		if err != nil {
			return "", err
		}
		parts = append(parts, string(route)+":"+string(raw))
	}
	// Hugo reads the file as a template.
	return strings.ReplaceAll("{"+strings.Join(parts, ",\n")+"}", "{{", `{{"{{"}}`), nil
}

var (
	anyHeading = regexp.MustCompile(`^#{2,6} +(.+)$`)
	anyLink    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	marks      = regexp.MustCompile("[`*]|<[^>]*>")
	dashes     = regexp.MustCompile(`^\|[-| :]+$`)
	dropped    = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	item       = regexp.MustCompile(`^([-*]|\d+\.) `)
)

// sections returns the texts below the headings of a page. Text before the first heading has the key "".
func sections(text string) map[string]string {
	out := map[string]string{}
	key, code := "", false
	var lines []string
	keep := func() { out[key] += strings.Join(lines, "\n"); lines = nil }
	joined := false // the next line continues the paragraph
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		found := anyHeading.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "```"):
			code, joined = !code, false
		case code:
			lines = append(lines, line)
		case found != nil:
			keep()
			title := plain(found[1])
			key, joined = anchor(title)+"#"+title, false
		case strings.TrimSpace(line) == "" || dashes.MatchString(line):
			joined = false
		case strings.HasPrefix(line, "|"):
			lines, joined = append(lines, strings.Trim(strings.ReplaceAll(plain(line), " | ", " · "), "| ")), false
		case joined && !item.MatchString(strings.TrimSpace(line)):
			lines[len(lines)-1] += " " + plain(strings.TrimSpace(line))
		default:
			lines, joined = append(lines, plain(strings.TrimSpace(line))), true
		}
	}
	keep()
	return out
}

// plain returns a line without Markdown.
func plain(line string) string {
	return marks.ReplaceAllString(anyLink.ReplaceAllString(line, "$1"), "")
}

// anchor returns the anchor of a heading, as GitHub and Hugo create it.
func anchor(heading string) string {
	return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
