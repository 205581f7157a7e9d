package ecs

import (
	"net/url"
	"strconv"
	"strings"
)

// form is a part of a request's parameters.
type form struct {
	values url.Values
	at     string
}

func (f form) get(key string) string { return f.values.Get(f.at + key) }

func (f form) in(key string) form { return form{values: f.values, at: f.at + key + "."} }

// has reports whether the form has the key, or keys below it.
func (f form) has(key string) bool {
	at := f.at + key
	for k := range f.values {
		if k == at || strings.HasPrefix(k, at+".") {
			return true
		}
	}
	return false
}

// each returns the entries of a list of structures: key.1, key.2 ...
func (f form) each(key string) (all []form) {
	in := f.in(key)
	for n := 1; in.has(strconv.Itoa(n)); n++ {
		all = append(all, in.in(strconv.Itoa(n)))
	}
	return all
}

// list returns the entries of a list of texts.
func (f form) list(key string) (all []string) {
	in := f.in(key)
	for n := 1; in.has(strconv.Itoa(n)); n++ {
		all = append(all, in.get(strconv.Itoa(n)))
	}
	return all
}

func (f form) number(key string) int {
	n, _ := strconv.Atoi(f.get(key)) // an invalid number is 0
	return n
}

// tags returns the tags of a list of keys and values.
func (f form) tags() map[string]string {
	tags := map[string]string{}
	for _, t := range f.each("Tag") {
		tags[t.get("Key")] = t.get("Value")
	}
	return tags
}

// matches reports whether tags have all tags of the form; a tag without a value matches every value.
func (f form) matches(tags map[string]string) bool {
	for _, t := range f.each("Tag") {
		value, has := tags[t.get("Key")]
		if !has || t.has("Value") && value != t.get("Value") {
			return false
		}
	}
	return true
}
