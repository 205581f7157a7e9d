package gce

import (
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// resource is a resource as decoded JSON, so that all fields of a request are kept.
type resource map[string]any

// with returns a copy with additional fields.
func (r resource) with(fields resource) resource {
	out := maps.Clone(r)
	if out == nil {
		out = resource{}
	}
	maps.Copy(out, fields)
	return out
}

func (r resource) text(name string) string {
	s, _ := r[name].(string)
	return s
}

func (r resource) yes(name string) bool {
	b, _ := r[name].(bool)
	return b
}

// number is an integer. Google's JSON has a text instead of a number if the integer may have more than 53 bits.
func (r resource) number(name string) int64 {
	switch n := r[name].(type) {
	case json.Number:
		i, _ := n.Int64()
		return i
	case string:
		i, _ := json.Number(n).Int64()
		return i
	case int64:
		return n
	case int:
		return int64(n)
	}
	return 0
}

func (r resource) part(name string) resource { return asResource(r[name]) }

func asResource(v any) resource {
	switch m := v.(type) {
	case resource:
		return m
	case map[string]any:
		return m
	}
	return nil
}

// parts are the objects of a list.
func (r resource) parts(name string) (all []resource) {
	switch list := r[name].(type) {
	case []any:
		for _, v := range list {
			all = append(all, asResource(v))
		}
	case []resource:
		return list
	}
	return all
}

// texts are the texts of a list.
func (r resource) texts(name string) (all []string) {
	switch list := r[name].(type) {
	case []any:
		for _, v := range list {
			s, _ := v.(string)
			all = append(all, s)
		}
	case []string:
		return list
	}
	return all
}

// words are a map of texts, such as labels.
func (r resource) words(name string) map[string]string {
	out := map[string]string{}
	switch m := r[name].(type) {
	case map[string]string:
		return m
	case map[string]any:
		for k, v := range m {
			out[k], _ = v.(string)
		}
	}
	return out
}

// link is a URL of the API: host and version are always the same.
func link(parts ...string) string {
	return "https://www.googleapis.com/compute/v1/" + strings.Join(parts, "/")
}

// tail is what follows the last slash.
func tail(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

// below is the path of a URL from "projects" on, or the whole URL.
func below(url string) string {
	if i := strings.Index(url, "projects/"); i >= 0 {
		return url[i:]
	}
	return strings.TrimPrefix(url, "/")
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000-07:00") }
