package double

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Verb is an event that the console can cause without the cloud's API.
type Verb struct {
	// Name is a word: "interrupt", "terminate", "stop", "exhaust", "lag".
	Name string `json:"name"`
	// On describes its object: "an instance's ID", "zone[/type]", "a duration".
	On string `json:"on"`
	// Do is its effect. It returns an error if the verb does not apply to the object.
	Do func(on string) error `json:"-"`
}

// Controls are the verbs of a cloud. A cloud embeds them, and so implements the methods Verbs and Do of [Inspected].
type Controls []Verb

// Verbs implements [Inspected].
func (c Controls) Verbs() []Verb { return slices.Clip(c) }

// Do implements [Inspected].
func (c Controls) Do(verb, on string) error {
	n := slices.IndexFunc(c, func(v Verb) bool { return v.Name == verb })
	if n < 0 {
		return fmt.Errorf("there is no verb %q", verb)
	}
	return c[n].Do(on)
}

// OnInstance returns a function that turns an effect on an instance into the effect of a verb on its ID. find returns false if
// the instance does not exist. It and the effect run while the lock is held.
func OnInstance[T any](lock sync.Locker, find func(id string) (T, bool)) func(effect func(T) error) func(id string) error {
	return func(effect func(T) error) func(string) error {
		return func(id string) error {
			lock.Lock()
			defer lock.Unlock()
			i, ok := find(id)
			if !ok {
				return fmt.Errorf("there is no instance %q", id)
			}
			return effect(i)
		}
	}
}

// UntagVerb is the verb with the name that removes a tag from an instance. tags is the field of an instance with its tags.
func UntagVerb[T any](name string, instances *Table[T], tags func(*T) *map[string]string) Verb {
	return Verb{Name: name, On: "instance=key: the instance loses the tag with the key", Do: func(on string) error {
		id, key, _ := strings.Cut(on, "=")
		has := false
		instances.Change(id, func(i *T) {
			at := tags(i)
			_, has = (*at)[key]
			*at = maps.Clone(*at)
			delete(*at, key)
		})
		if !has {
			return fmt.Errorf("there is no instance %q with a tag %q: say instance=key", id, key)
		}
		return nil
	}}
}
