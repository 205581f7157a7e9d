package millwright

import (
	"fmt"
	"math"
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
	faults      []Fault
}

// Read returns a reader of annotations, which may be nil.
func Read(annotations map[string]string) *Reader { return &Reader{annotations: annotations} }

// Faults are what could not be read so far, in the order of reading.
func (r *Reader) Faults() []Fault { return r.faults }

// On reads a switch: any value but "false" turns it on.
func (r *Reader) On(key string) bool {
	_ = described(key, Switch)
	text, ok := r.annotations[key]
	return ok && text != "false"
}

// Duration reads a duration. A word that is understood beside it is none: ask [Reader.Word] first.
func (r *Reader) Duration(key string) (time.Duration, bool) {
	k := described(key, Duration, PositiveDuration)
	return read(r, k, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && (d > 0 || d == 0 && k.Form == Duration)
	})
}

// Word reads a word. Of a key that has words beside its form, every other value is none, and no fault.
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
func (r *Reader) List(key string) (out []string) {
	_ = described(key, List)
	for entry := range strings.SplitSeq(r.annotations[key], ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}

// percent reads "30%"; the number fits into an int32.
func percent(text string) (int, bool) {
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n <= math.MaxInt32
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
	r.faults = append(r.faults, Fault{
		Field: "metadata.annotations[" + k.Name + "]", Message: fmt.Sprintf("must be %s, is %q", k.Want, text),
	})
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

func lookUp(name string) (Key, bool) {
	for _, some := range [][]Key{machineKeys, setKeys, rolloutKeys, healthKeys, writtenKeys, kubernetesKeys} {
		for _, k := range some {
			if k.Name == name {
				return k, true
			}
		}
	}
	return Key{}, false
}
