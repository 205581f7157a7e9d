package kit_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// counting decodes a spec to itself, refuses those that begin with "!", and counts the calls for each.
func counting() (*kit.Specs[string], map[string]int) {
	var mu sync.Mutex
	asked := map[string]int{}
	return kit.NewSpecs(func(api string, raw []byte) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[api+" "+string(raw)]++
		if strings.HasPrefix(string(raw), "!") {
			return "", provider.InvalidField("a", "refused")
		}
		return api + " " + string(raw), nil
	}), asked
}

func TestSpecsDecodeOnce(t *testing.T) {
	s, asked := counting()
	for range 5 {
		for _, api := range []string{"a", "ab"} {
			for _, raw := range []string{"x", "bx", "!x", ""} {
				got, err := s.Get(api, []byte(raw))
				if refused := strings.HasPrefix(raw, "!"); refused != (err != nil) {
					t.Errorf("%q: %v", raw, err)
				}
				if e, ok := errors.AsType[*provider.Error](err); err != nil && (!ok || e.Field != "a") {
					t.Errorf("the field of a refusal is lost: %v", err)
				}
				if err == nil && got != api+" "+raw {
					t.Errorf("%q in %q decodes to %q", raw, api, got)
				}
			}
		}
	}
	for spec, n := range asked {
		if n != 1 {
			t.Errorf("%q was decoded %d times", spec, n)
		}
	}
}

func TestSpecsForgetWhatIsNotAskedFor(t *testing.T) {
	s, asked := counting()
	get := func(raw string) { _, _ = s.Get("a", []byte(raw)) }
	get("mine")
	for i := range 1000 {
		get(fmt.Sprint(i))
		get("mine")
	}
	if n := asked["a mine"]; n != 1 {
		t.Errorf("a spec in use was decoded %d times", n)
	}
	if get("0"); asked["a 0"] != 2 {
		t.Error("remembers more than it may")
	}
	// Specs of 1.5 MB each evict each other, and each is cached again.
	large := func(i int) string { return fmt.Sprint(i) + strings.Repeat("x", 3<<19) }
	for i := range 4 {
		get(large(i))
		get(large(i))
	}
	if n := asked["a "+large(3)]; n != 1 {
		t.Errorf("the last large spec was decoded %d times", n)
	}
	if get("mine"); asked["a mine"] != 2 {
		t.Error("keeps more bytes than it may")
	}
}

func TestSpecsTogether(t *testing.T) {
	s, _ := counting()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 500 {
				raw := fmt.Sprint((i + j) % 300)
				if got, err := s.Get("a", []byte(raw)); err != nil || got != "a "+raw {
					t.Errorf("%q decodes to %q, %v", raw, got, err)
				}
			}
		})
	}
	all.Wait()
}
