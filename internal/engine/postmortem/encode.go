package postmortem

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// SmallestLimit is the smallest limit that [Encode] can keep: the identity of a machine takes that much in
// the worst case.
const SmallestLimit = 4 << 10

// Encode returns the record as JSON of at most limit bytes, without secrets. Cut names the shortened parts:
// first the console loses its beginning, then the record its longest texts and oldest entries. The names of
// the object are never redacted: object names are not secret.
func Encode(r Record, secrets Redactor, limit int) ([]byte, error) {
	limit = max(limit, SmallestLimit)
	r, err := copied(r)
	if err != nil {
		return nil, err
	}
	texts(reflect.ValueOf(&r), func(s string) string { return secrets.Text(s) })
	for _, shorter := range cuts {
		raw, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encode evidence of %s/%s: %w", r.Namespace, r.Name, err)
		}
		if len(raw) <= limit {
			return raw, nil
		}
		shorter.do(&r)
		if !slices.Contains(r.Cut, shorter.part) {
			r.Cut = append(r.Cut, shorter.part)
		}
	}
	return json.Marshal(r)
}

// Decode is the inverse of Encode, except for the parts that were cut.
func Decode(raw []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("decode evidence: %w", err)
	}
	return r, nil
}

// copied returns a deep copy of r.
func copied(r Record) (out Record, err error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return out, fmt.Errorf("encode evidence of %s/%s: %w", r.Namespace, r.Name, err)
	}
	return Decode(raw)
}

// cut shortens one part of a record.
type cut struct {
	part string
	do   func(*Record)
}

// cuts are applied in this order until the record is short enough. After the last one it is, for any content.
var cuts = []cut{
	{"console", func(r *Record) { r.Console = last(r.Console, 4<<10) }},
	{"console", func(r *Record) { r.Console = last(r.Console, 2<<10) }},
	{"events", func(r *Record) { r.Events = newest(r.Events, 10) }},
	{"texts", func(r *Record) { shorten(r, 1000) }},
	{"requests", func(r *Record) { r.Requests = newest(r.Requests, 5) }},
	{"console", func(r *Record) { r.Console = last(r.Console, 1<<10) }},
	{"texts", func(r *Record) { shorten(r, 400) }},
	{"events", func(r *Record) { r.Events = newest(r.Events, 3) }},
	{"lists", func(r *Record) { fewer(r, 8) }},
	{"texts", func(r *Record) { shorten(r, 150) }},
	{"lists", func(r *Record) { fewer(r, 3) }},
	{"console", func(r *Record) { r.Console = "" }},
	{"everything else", func(r *Record) {
		*r = Record{
			API: r.API, Namespace: r.Namespace, Name: r.Name, UID: r.UID, Owner: r.Owner,
			Cause: r.Cause, Taken: r.Taken, Phase: r.Phase, Summary: first(r.Summary, 150),
		}
	}},
	{"names", func(r *Record) {
		for _, s := range []*string{&r.API, &r.Namespace, &r.Name, &r.UID, &r.Owner, (*string)(&r.Cause), &r.Phase} {
			*s = first(*s, 60)
		}
	}},
}

// fewer keeps at most n entries of each list.
func fewer(r *Record, n int) {
	r.Moments, r.Said, r.Requests = newest(r.Moments, n), newest(r.Said, n), newest(r.Requests, n)
	r.Gaps = newest(r.Gaps, n)
	if r.Node != nil {
		r.Node.Conditions, r.Node.Taints = newest(r.Node.Conditions, n), newest(r.Node.Taints, n)
	}
	if r.Instance != nil {
		r.Instance.Addresses = newest(r.Instance.Addresses, n)
	}
}

// shorten cuts all texts but the console to n bytes each.
func shorten(r *Record, n int) {
	console := r.Console
	texts(reflect.ValueOf(r), func(s string) string { return first(s, n) })
	r.Console = console
}

func newest[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

const ellipsis = "..."

// first returns the beginning of s, last its end, of at most n bytes with a mark for the missing part.
func first(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len(ellipsis)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}

// last begins with a whole line if there is one.
func last(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n+len(ellipsis):]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	if _, rest, ok := strings.Cut(s, "\n"); ok && rest != "" {
		s = rest
	}
	return ellipsis + s
}

// texts replaces every string in v that is not marked as identity.
func texts(v reflect.Value, f func(string) string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && field.Tag.Get("evidence") != "identity" {
				texts(v.Field(i), f)
			}
		}
	case reflect.String:
		v.SetString(f(v.String()))
	}
}
