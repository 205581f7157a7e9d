package ec2

import (
	"encoding/base64"
	"slices"
	"strings"
)

// attributes returns the values by which a resource can be filtered; false if the resource has no filter of that
// name.
type attributes func(name string) (values []string, known bool)

// tagged are the attributes of every resource with tags.
func tagged(tags map[string]string, more map[string][]string) attributes {
	return func(name string) ([]string, bool) {
		if key, ok := strings.CutPrefix(name, "tag:"); ok {
			value, there := tags[key]
			if !there {
				return nil, true
			}
			return []string{value}, true
		}
		if name == "tag-key" {
			keys := make([]string, 0, len(tags))
			for k := range tags {
				keys = append(keys, k)
			}
			return keys, true
		}
		values, known := more[name]
		return values, known
	}
}

// matches reports whether a resource passes all filters of a request.
func (c call) matches(a attributes) (bool, *failure) {
	for _, f := range c.Each("Filter") {
		values, known := a(f.Get("Name"))
		if !known {
			return false, refuse("InvalidParameterValue", "The filter '%s' is invalid", f.Get("Name"))
		}
		if !slices.ContainsFunc(f.List("Value"), func(pattern string) bool {
			return slices.ContainsFunc(values, func(v string) bool { return like(pattern, v) })
		}) {
			return false, nil
		}
	}
	return true, nil
}

// like reports whether a value matches a pattern, in which * stands for any text and ? for one character.
func like(pattern, value string) bool {
	if pattern == "" {
		return value == ""
	}
	switch pattern[0] {
	case '*':
		for n := range len(value) + 1 {
			if like(pattern[1:], value[n:]) {
				return true
			}
		}
		return false
	case '?':
		return value != "" && like(pattern[1:], value[1:])
	case '\\':
		if len(pattern) > 1 {
			pattern = pattern[1:]
		}
	}
	return value != "" && value[0] == pattern[0] && like(pattern[1:], value[1:])
}

// filtered returns the resources that pass the filters, and have one of the IDs of the request, if there are
// any.
func filtered[T any](in *call, all []T, ids []string, id func(T) string, a func(T) attributes) ([]T, *failure) {
	var out []T
	for _, item := range all {
		if len(ids) > 0 && !slices.Contains(ids, id(item)) {
			continue
		}
		ok, no := in.matches(a(item))
		if no != nil {
			return nil, no
		}
		if ok {
			out = append(out, item)
		}
	}
	if len(all) == 0 {
		_, no := in.matches(func(string) ([]string, bool) { return nil, true })
		return nil, no
	}
	return out, nil
}

// page returns the requested page of a list that is sorted by ID.
func page[T any](c *Cloud, in *call, all []T, id func(T) string) ([]T, node, *failure) {
	if token := in.Get("NextToken"); token != "" {
		last, err := base64.StdEncoding.DecodeString(token)
		if err != nil {
			return nil, node{}, refuse("InvalidNextToken", "The token '%s' is invalid", token)
		}
		for len(all) > 0 && id(all[0]) <= string(last) {
			all = all[1:]
		}
	}
	size := c.options.PageSize
	if most := in.Number("MaxResults"); most > 0 {
		size = min(size, int(most))
	}
	if len(all) <= size {
		return all, node{}, nil
	}
	all = all[:size]
	return all, el("nextToken", base64.StdEncoding.EncodeToString([]byte(id(all[size-1])))), nil
}

// asked checks the IDs of a request: if any ID does not exist, the whole request is refused.
func asked(ids []string, prefix, malformed, missing, what string, there func(string) bool) *failure {
	var unknown []string
	for _, id := range ids {
		if !strings.HasPrefix(id, prefix) {
			return refuse(malformed, "Invalid id: %q", id)
		}
		if !there(id) {
			unknown = append(unknown, id)
		}
	}
	switch len(unknown) {
	case 0:
		return nil
	case 1:
		return refuse(missing, "The %s ID '%s' does not exist", what, unknown[0])
	}
	return refuse(missing, "The %s IDs '%s' do not exist", what, strings.Join(unknown, ", "))
}
