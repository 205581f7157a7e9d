package millwright

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Fault says that a value cannot be read.
type Fault struct {
	// Field is the path of the annotation in its object.
	Field string
	// Message says what the value must be, and what it is.
	Message string
}

// Reader reads the annotations of one object as [Keys] has them. A key that is not there, and one whose value cannot be read,
// reads as not there; the latter is a fault as well. A method that does not fit the form of its key panics: that is a defect of
// the caller.
type Reader struct {
	annotations map[string]string
	misread     []Key
}

// Read returns a reader of annotations, which may be nil.
func Read(annotations map[string]string) *Reader { return &Reader{annotations: annotations} }

// Faults are what could not be read so far, in the order of reading.
func (r *Reader) Faults() (out []Fault) {
	for _, k := range r.misread {
		out = append(out, Fault{
			Field: "metadata.annotations[" + k.Name + "]", Message: fmt.Sprintf("must be %s, is %q", k.Want, r.annotations[k.Name]),
		})
	}
	return out
}

// Misread is the value of a key that was read and could not be understood, for those who word faults themselves.
func (r *Reader) Misread(key string) (text string, bad bool) {
	bad = slices.ContainsFunc(r.misread, func(k Key) bool { return k.Name == key })
	if bad {
		text = r.annotations[key]
	}
	return text, bad
}

// On reads a switch: any value but "false" turns it on.
func (r *Reader) On(key string) bool {
	_ = described(key, Switch)
	text, ok := r.annotations[key]
	return ok && text != "false"
}

// Duration reads a duration. It does not accept the words of the key: call [Reader.Word] first.
func (r *Reader) Duration(key string) (time.Duration, bool) {
	k := described(key, Duration, PositiveDuration)
	return read(r, k, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && (d > 0 || d == 0 && k.Form == Duration)
	})
}

// Word reads a word. If the key also has another form, any other value is not a word, and is no error.
func (r *Reader) Word(key string) (string, bool) {
	k, ok := lookUp(key)
	if !ok || len(k.Words) == 0 {
		panic(key + " has no words")
	}
	if text := r.annotations[key]; k.Form != Word && !slices.Contains(k.Words, text) {
		return "", false
	}
	return read(r, k, func(text string) (string, bool) { return text, slices.Contains(k.Words, text) })
}

// Count reads a number from zero on.
func (r *Reader) Count(key string) (int, bool) {
	return read(r, described(key, Count), func(text string) (int, bool) {
		n, err := strconv.ParseInt(text, 10, 32)
		return int(n), err == nil && n >= 0
	})
}

// Integer reads a number of either sign.
func (r *Reader) Integer(key string) (int, bool) {
	return read(r, described(key, Integer), func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil
	})
}

// Percentage reads a share, from 1 to 100.
func (r *Reader) Percentage(key string) (int, bool) {
	return read(r, described(key, Percentage), func(text string) (int, bool) {
		n, ok := percent(text)
		return n, ok && n >= 1 && n <= 100
	})
}

// CountOrPercentage reads a number from zero on, or a percentage from zero on.
func (r *Reader) CountOrPercentage(key string) (intstr.IntOrString, bool) {
	return read(r, described(key, CountOrPercentage), func(text string) (intstr.IntOrString, bool) {
		if n, ok := percent(text); ok {
			return intstr.FromString(text), n >= 0
		}
		n, err := strconv.ParseInt(text, 10, 32)
		return intstr.FromInt32(int32(n)), err == nil && n >= 0
	})
}

// Time reads a moment.
func (r *Reader) Time(key string) (time.Time, bool) {
	return read(r, described(key, Time), func(text string) (time.Time, bool) {
		t, err := time.Parse(time.RFC3339, text)
		return t, err == nil
	})
}

// List reads what is separated by commas, without spaces around it and without what is empty.
func (r *Reader) List(key string) []string {
	_ = described(key, List)
	return entries(r.annotations[key])
}

// Approval reads entries that are separated by commas: numbers from zero on, of which the largest counts, and IDs of instances,
// which have "://" in them. Bad is the first entry that is neither; then nothing is approved.
func (r *Reader) Approval(key string) (count int, named []string, bad string) {
	_, _ = read(r, described(key, Approval), func(text string) (string, bool) {
		for _, entry := range entries(text) {
			n, err := strconv.Atoi(entry)
			switch {
			case strings.Contains(entry, "://"):
				named = append(named, entry)
			case err != nil || n < 0:
				count, named, bad = 0, nil, entry
				return "", false
			default:
				count = max(count, n)
			}
		}
		return "", true
	})
	return count, named, bad
}

// JSON decodes a document; there is false, and nothing wrong, without one. What cannot be decoded is in err only: who reads a
// document says what that means.
func (r *Reader) JSON(key string, into any) (there bool, err error) {
	_ = described(key, JSON)
	text, there := r.annotations[key]
	if !there {
		return false, nil
	}
	return true, json.Unmarshal([]byte(text), into)
}

// Text is a value of any form as it is written, for those who compare it with another, or keep what they do not know of it.
func (r *Reader) Text(key string) (text string, there bool) {
	text, there = r.annotations[key]
	return text, there
}

// Limit reads what is also a field of the API, by the parser of that field.
func Limit[T any](r *Reader, key string, parse func(string) (T, error)) (T, bool) {
	return read(r, described(key, Bound), func(text string) (T, bool) {
		limit, err := parse(text)
		return limit, err == nil
	})
}

func percent(text string) (int, bool) {
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil
}

func entries(text string) (out []string) {
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}

// read hands a value that is there to a function that says whether it understands it.
func read[T any](r *Reader, k Key, understand func(string) (T, bool)) (value T, ok bool) {
	text, there := r.annotations[k.Name]
	if !there {
		return value, false
	}
	if value, ok = understand(text); ok {
		return value, true
	}
	r.misread = append(r.misread, k)
	var none T
	return none, false
}

// described is the entry of a key that is read in one of the forms.
func described(key string, forms ...Form) Key {
	k, ok := lookUp(key)
	if !ok || !slices.Contains(forms, k.Form) {
		panic(fmt.Sprintf("%s is no %v", key, forms))
	}
	return k
}

var byName = func() map[string]Key {
	out := map[string]Key{}
	for _, k := range Keys() {
		out[k.Name] = k
	}
	return out
}()

func lookUp(name string) (Key, bool) {
	k, ok := byName[name]
	return k, ok
}
