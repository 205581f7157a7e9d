package cloud_test

import (
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// TestFallbacksOfZonesAndPlatforms: a machine is created in the second zone while the first is exhausted, and on another platform while
// both are; the class's own session finds, lists and deletes it.
func TestFallbacksOfZonesAndPlatforms(t *testing.T) {
	w := newWorld(t)
	class := w.class("c1")
	class.Fallbacks = [][]byte{
		[]byte(`{"zoneID":"ru-central1-b","networkInterfaceSpecs":[{"subnetID":"e2lexample0000000001"}]}`), []byte(`{"platformID":"standard-v2"}`),
	}
	s, err := decorate.Fallback(w.start()).Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	base := w.open(t, w.class("c1"))
	for _, step := range []struct{ exhaust, zone, platform string }{
		{"", "ru-central1-a", "standard-v3"}, {"ru-central1-a/standard-v3", "ru-central1-b", "standard-v3"}, {"ru-central1-b", "ru-central1-a", "standard-v2"},
	} {
		if err := w.Do("exhaust", step.exhaust); err != nil {
			t.Fatal(err)
		}
		ref := refOf("m-" + step.zone + step.platform)
		if err := createChosen(t, s, ref); err != nil {
			t.Fatalf("without %s: %v", step.exhaust, err)
		}
		w.clock.Advance(minute)
		i := found(t, base, ref)
		if i.Zone != step.zone || !strings.HasPrefix(i.Type, step.platform+"-") {
			t.Fatalf("without %s the class finds %+v", step.exhaust, i)
		}
		if d := s.Differences(ref, i); len(d) > 0 {
			t.Errorf("an instance of a choice differs: %q", d)
		}
		n := 0
		for listed, err := range base.List(t.Context()) {
			if n++; err != nil || listed.ID != i.ID {
				t.Errorf("the class lists %s, %v", listed.ID, err)
			}
		}
		if n != 1 {
			t.Errorf("the class lists %d instances", n)
		}
		if err := w.deleted(t.Context(), base, ref, i); err != nil {
			t.Fatal(err)
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
