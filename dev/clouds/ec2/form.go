package ec2

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

func (f form) number(key string) int64 {
	n, _ := strconv.ParseInt(f.get(key), 10, 64) // an invalid number is 0
	return n
}

func (f form) yes(key string) bool { return f.get(key) == "true" }

// tags returns the tags of a list of keys and values.
func (f form) tags(key string) map[string]string {
	tags := map[string]string{}
	for _, t := range f.each(key) {
		tags[t.get("Key")] = t.get("Value")
	}
	return tags
}

// tagsFor returns the tags that a request has for resources of the kind.
func (f form) tagsFor(kind string) map[string]string {
	tags := map[string]string{}
	for _, s := range f.each("TagSpecification") {
		if s.get("ResourceType") == kind {
			for k, v := range s.tags("Tag") {
				tags[k] = v
			}
		}
	}
	return tags
}
