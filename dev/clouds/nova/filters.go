package nova

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// serverFilter is the filter of a query. It has only the parameters that non-administrators may use; it ignores others, as
// Nova does.
func serverFilter(q url.Values) (func(s server, status string) bool, error) {
	name, err := regexp.Compile("(?i)" + q.Get("name"))
	if err != nil {
		return nil, err
	}
	return func(s server, status string) bool {
		return name.MatchString(s.name) && (q.Get("status") == "" || strings.EqualFold(q.Get("status"), status)) && tagged(q, s.tags)
	}, nil
}

// tagged is the filter by tags, tags-any, not-tags and not-tags-any, in Nova and in Neutron.
func tagged(q url.Values, tags []string) bool {
	has := func(t string) bool { return slices.Contains(tags, t) }
	list := func(key string) []string {
		var all []string
		for _, v := range q[key] {
			all = append(all, strings.Split(v, ",")...)
		}
		return all
	}
	all := func(l []string) bool { return !slices.ContainsFunc(l, func(t string) bool { return !has(t) }) }
	for key, holds := range map[string]func([]string) bool{
		"tags":         all,
		"tags-any":     func(l []string) bool { return slices.ContainsFunc(l, has) },
		"not-tags":     func(l []string) bool { return !all(l) },
		"not-tags-any": func(l []string) bool { return !slices.ContainsFunc(l, has) },
	} {
		if q.Has(key) && q.Get(key) != "" && !holds(list(key)) {
			return false
		}
	}
	return true
}

// selected is Neutron's filter of a query: for each attribute one of the given values.
func selected(q url.Values, row map[string]any) bool {
	tags, _ := row["tags"].([]string)
	if !tagged(q, tags) {
		return false
	}
	for key, values := range q {
		switch key {
		case "tags", "tags-any", "not-tags", "not-tags-any", "limit", "marker", "sort_key", "sort_dir", "fields", "page_reverse", "fixed_ips", "security_groups":
			continue
		}
		have, known := row[key]
		if known && !slices.ContainsFunc(values, func(v string) bool { return matches(have, v) }) {
			return false
		}
	}
	return true
}

func matches(have any, want string) bool {
	switch h := have.(type) {
	case string:
		return h == want
	case bool:
		return strings.EqualFold(want, map[bool]string{true: "true", false: "false"}[h])
	case int:
		return want == itoa(h)
	case nil:
		return want == ""
	}
	return false
}
