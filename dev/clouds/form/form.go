// Package form reads the parameters of query APIs, in which lists and structures have numbered keys:
// "Tag.1.Key=a&Tag.1.Value=b".
package form

import (
	"net/url"
	"strconv"
	"strings"
)

// Form is a part of a request's parameters.
type Form struct {
	// Values are the parameters of the whole request.
	Values url.Values
	at     string
}

// Get is the first value of a key; empty without one.
func (f Form) Get(key string) string { return f.Values.Get(f.at + key) }

// Set sets the value of a key.
func (f Form) Set(key, value string) { f.Values.Set(f.at+key, value) }

// In is the structure below a key.
func (f Form) In(key string) Form { return Form{Values: f.Values, at: f.at + key + "."} }

// Has reports whether the form has the key, or keys below it.
func (f Form) Has(key string) bool {
	at := f.at + key
	for k := range f.Values {
		if k == at || strings.HasPrefix(k, at+".") {
			return true
		}
	}
	return false
}

// Each returns the entries of a list of structures: key.1, key.2 ...
func (f Form) Each(key string) (all []Form) {
	in := f.In(key)
	for n := 1; in.Has(strconv.Itoa(n)); n++ {
		all = append(all, in.In(strconv.Itoa(n)))
	}
	return all
}

// List returns the entries of a list of texts.
func (f Form) List(key string) (all []string) {
	in := f.In(key)
	for n := 1; in.Has(strconv.Itoa(n)); n++ {
		all = append(all, in.Get(strconv.Itoa(n)))
	}
	return all
}

// Number is the value of a key as a number; 0 if it is invalid or missing.
func (f Form) Number(key string) int64 {
	n, _ := strconv.ParseInt(f.Get(key), 10, 64)
	return n
}

// Yes reports whether the value of a key is "true".
func (f Form) Yes(key string) bool { return f.Get(key) == "true" }

// Tags returns the tags of a list of structures with a Key and a Value.
func (f Form) Tags(key string) map[string]string {
	tags := map[string]string{}
	for _, t := range f.Each(key) {
		tags[t.Get("Key")] = t.Get("Value")
	}
	return tags
}

// SetTags sets such a list.
func (f Form) SetTags(key string, tags map[string]string) {
	n := 0
	for k, v := range tags {
		n++
		at := f.In(key).In(strconv.Itoa(n))
		at.Set("Key", k)
		at.Set("Value", v)
	}
}

// Without returns the first value of each key that is not in a list of keys, and is not below one of them.
func (f Form) Without(keys ...string) map[string]string {
	others := map[string]string{}
	for key, values := range f.Values {
		dropped := len(values) == 0
		for _, k := range keys {
			dropped = dropped || key == k || strings.HasPrefix(key, k+".")
		}
		if !dropped {
			others[key] = values[0]
		}
	}
	return others
}
