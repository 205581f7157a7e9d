package cloud_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// elsewhere are patches of the specs of each API: another zone, and then another type.
var elsewhere = map[string][2]string{
	provider.OpenShift: {`{"zoneId":"cn-hangzhou-i"}`, `{"instanceType":"ecs.g7.xlarge"}`},
	provider.Gardener:  {`{"zoneID":"cn-hangzhou-i","vSwitchID":"vsw-bp1example0000000000i"}`, `{"instanceType":"ecs.g7.xlarge"}`},
}

// TestFallbacksOfZonesAndTypes: a machine is created in the second zone while the first is exhausted, and of another type while
// both are; the class's own session finds, lists and deletes it.
func TestFallbacksOfZonesAndTypes(t *testing.T) {
	for api, patches := range elsewhere {
		w := sample(t)
		class := classOf(api, "c1")
		class.Fallbacks = [][]byte{[]byte(patches[0]), []byte(patches[1])}
		s, err := decorate.Fallback(w.start()).Open(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		base := w.open(t, classOf(api, "c1"))
		for _, step := range []struct{ exhaust, zone, kind string }{
			{"", "cn-hangzhou-h", "ecs.g7.large"}, {"cn-hangzhou-h/ecs.g7.large", "cn-hangzhou-i", "ecs.g7.large"}, {"cn-hangzhou-i", "cn-hangzhou-h", "ecs.g7.xlarge"},
		} {
			if err := w.Do("exhaust", step.exhaust); err != nil {
				t.Fatal(err)
			}
			ref := refOf(strings.ReplaceAll("m-"+step.zone+step.kind, ".", "-"))
			if err := createChosen(t, s, ref); err != nil {
				t.Fatalf("%s: without %s: %v", api, step.exhaust, err)
			}
			w.clock.Advance(time.Minute)
			found, err := base.Find(t.Context(), ref)
			if err != nil || len(found) != 1 || found[0].Zone != step.zone || found[0].Type != step.kind {
				t.Fatalf("%s: without %s the class finds %+v, %v", api, step.exhaust, found, err)
			}
			if d := s.Differences(ref, found[0]); len(d) > 0 {
				t.Errorf("%s: an instance of a choice differs: %q", api, d)
			}
			n := 0
			for i, err := range base.List(t.Context()) {
				if err != nil || i.ID != found[0].ID {
					t.Errorf("%s: the class lists %s, %v", api, i.ID, err)
				}
				n++
			}
			if n != 1 {
				t.Errorf("%s: the class lists %d instances", api, n)
			}
			for done := false; !done; w.clock.Advance(5 * time.Second) {
				if done, err = base.Delete(t.Context(), ref, found); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// createChosen creates a machine from the first choice that is not exhausted, as the engine does.
func createChosen(t *testing.T, s provider.Session, ref provider.Ref) (err error) {
	t.Helper()
	for attempt, c := range s.Traits().Choices {
		choose := want
		choose.Choice, choose.Attempt = c.Name, attempt
		if _, err = s.Create(t.Context(), ref, choose); provider.KindOf(err) != provider.Exhausted {
			return err
		}
	}
	return err
}
