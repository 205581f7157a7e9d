package postmortem_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

var evening = time.Date(2026, 1, 2, 18, 0, 0, 0, time.UTC)

func departure(name string, ago time.Duration) postmortem.Departure {
	return postmortem.Departure{API: "a", Namespace: "blue", Name: name, UID: "uid-" + name, Owner: "MachineSet/mill", Requested: evening.Add(-ago - time.Minute), Deleted: evening.Add(-ago)}
}

// TestDepartureWith: facts add up, and the best source of the cause wins.
func TestDepartureWith(t *testing.T) {
	manual, scaled := v1alpha1.ReasonManual, v1alpha1.ReasonScaleDown
	for _, c := range []struct {
		reason   string
		d, other postmortem.Departure
		want     string
	}{
		{"a named client is better than a cause", postmortem.Departure{Cause: manual, Source: "state"}, postmortem.Departure{Cause: manual, By: "jane", Source: "event"}, "Manual jane event"},
		{"the first named client counts", postmortem.Departure{Cause: manual, By: "jane", Source: "event"}, postmortem.Departure{Cause: scaled, By: "MachineSet/a", Source: "other"}, "Manual jane event"},
		{"a cause is better than a summary", postmortem.Departure{Why: "it was silent", Source: "evidence"}, postmortem.Departure{Cause: scaled, Source: "state"}, "ScaleDown  state"},
		{"a summary is better than nothing", postmortem.Departure{}, postmortem.Departure{Why: "it was silent", Source: "evidence"}, "  evidence"},
		{"no cause hides no cause", postmortem.Departure{Cause: scaled, Source: "state"}, postmortem.Departure{}, "ScaleDown  state"},
	} {
		got := c.d.With(c.other)
		if text := fmt.Sprintf("%s %s %s", got.Cause, got.By, got.Source); text != c.want {
			t.Errorf("%s: %q, want %q", c.reason, text, c.want)
		}
	}
	got := postmortem.Departure{UID: "u", Zone: "a"}.With(postmortem.Departure{UID: "other", Zone: "b", Type: "large", Created: evening})
	if want := (postmortem.Departure{UID: "u", Zone: "a", Type: "large", Created: evening}); got != want {
		t.Errorf("%+v", got)
	}
}

// TestNewest: the newest machines of a day are kept, each once.
func TestNewest(t *testing.T) {
	old, young := departure("old", 25*time.Hour), departure("young", time.Hour)
	twice := departure("young", time.Hour)
	twice.Zone = "b"
	got := postmortem.Newest(evening, []postmortem.Departure{old, departure("b", 2*time.Hour), young, twice})
	var names []string
	for _, d := range got {
		names = append(names, d.Name+d.Zone)
	}
	if text := strings.Join(names, " "); text != "youngb b" {
		t.Errorf("kept %s", text)
	}
	var many []postmortem.Departure
	for i := range 2 * postmortem.MostDepartures {
		many = append(many, departure(fmt.Sprint("m-", i), time.Duration(i)*time.Second))
	}
	if got := postmortem.Newest(evening, many); len(got) != postmortem.MostDepartures || got[0].Name != "m-0" {
		t.Errorf("kept %d, the first is %s", len(got), got[0].Name)
	}
}

// TestDeparturesAreStored: the encoding keeps all fields, and its length is bounded for any text.
func TestDeparturesAreStored(t *testing.T) {
	d := departure("a", time.Minute)
	d.Cause, d.By, d.Why, d.Source, d.Evidence, d.Joined, d.Ready, d.Terminating, d.Terminated = v1alpha1.ReasonManual, "jane", "w", "s", "e", evening, evening, evening, evening
	raw, err := postmortem.EncodeDepartures([]postmortem.Departure{d})
	if err != nil {
		t.Fatal(err)
	}
	back, err := postmortem.DecodeDepartures(raw)
	if diff := cmp.Diff([]postmortem.Departure{d}, back); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	d.Name, d.By, d.Why = strings.Repeat("n", 253), strings.Repeat("b", 10_000), strings.Repeat("w", 10_000)
	many := make([]postmortem.Departure, postmortem.MostDepartures)
	for i := range many {
		many[i] = d
	}
	if raw, err = postmortem.EncodeDepartures(many); err != nil || len(raw) > 900<<10 {
		t.Errorf("%v, %d bytes, and a ConfigMap has at most 1 MiB", err, len(raw))
	}
	if _, err := postmortem.DecodeDepartures("{"); err == nil {
		t.Error("damaged text is decoded")
	}
}

// TestDepartureWords: each cause has words that name the client, or say that it is not known.
func TestDepartureWords(t *testing.T) {
	for _, c := range []struct {
		d    postmortem.Departure
		want string
	}{
		{postmortem.Departure{}, ""},
		{postmortem.Departure{Why: "it was silent."}, "it was silent"},
		{postmortem.Departure{Cause: v1alpha1.ReasonManual, By: "jane"}, "jane requested the deletion"},
		{postmortem.Departure{Cause: v1alpha1.ReasonManual, Owner: "MachineSet/mill"}, "a client requested the deletion, and not MachineSet mill, a rollout or a health check; the name of the client is not stored"},
		{postmortem.Departure{Cause: v1alpha1.ReasonManual}, "a client requested the deletion; its name is not stored"},
		{postmortem.Departure{Cause: v1alpha1.ReasonScaleDown, Owner: "MachineSet/mill", Why: "surplus"}, "MachineSet mill deleted it: surplus"},
		{postmortem.Departure{Cause: v1alpha1.ReasonRollout, Owner: "MachineSet/mill"}, "a rollout replaced the machines of MachineSet mill"},
		{postmortem.Departure{Cause: v1alpha1.ReasonRemediation, By: "MachineHealthCheck"}, "MachineHealthCheck deleted it, because the machine or its node was unhealthy"},
	} {
		if got := c.d.Words(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.d, got, c.want)
		}
	}
}
