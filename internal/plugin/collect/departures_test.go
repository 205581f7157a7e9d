package collect_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/provider"
)

// requested is the event about a deletion by jane.
func requested(name, id string) *corev1.Event {
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "by-" + id}, Reason: departures.EventRequested, Message: departures.RequestedNote("jane"), LastTimestamp: ago(10 * time.Minute)}
	e.InvolvedObject = corev1.ObjectReference{APIVersion: provider.OpenShift + "/v1beta1", Kind: "Machine", Namespace: ns, Name: name, UID: "uid-left"}
	return e
}

// record is a record of deleted machines with one healthy machine.
func record(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	raw, err := postmortem.EncodeDepartures([]postmortem.Departure{{
		API: provider.OpenShift, Namespace: ns, Name: name, UID: "uid-left", Owner: "MachineSet/mill-a", Node: "n-9", Zone: "eu-1b", Cause: "Manual", Source: "state of MachineSet/mill-a",
		Created: now.Add(-5 * time.Hour), Joined: now.Add(-4 * time.Hour), Requested: now.Add(-10 * time.Minute), Terminated: now.Add(-8 * time.Minute), Deleted: now.Add(-7 * time.Minute),
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := departures.Stored(ns)
	c.Data = map[string]string{provider.OpenShift: raw}
	return c
}

// TestDeletedHealthyMachine: a healthy machine that a user deleted has an answer and a history, from its record and from
// the event that names the user; also if only one of them exists.
func TestDeletedHealthyMachine(t *testing.T) {
	for reason, test := range map[string]struct {
		objects []client.Object
		events  []string
		says    string
	}{
		"record and event": {[]client.Object{record(t, "left"), requested("left", "a")}, []string{"machine created", "node joined", "deletion requested", "instance terminated", "machine deleted"}, "jane requested the deletion"},
		"record":           {[]client.Object{record(t, "left")}, []string{"machine created", "machine deleted"}, "the name of the client is not stored"},
		"event":            {[]client.Object{requested("left", "a")}, []string{"deletion requested"}, "jane requested the deletion"},
	} {
		t.Run(reason, func(t *testing.T) {
			c := cluster(t, nil, append(atWork(), test.objects...)...)
			q := collect.Question{Kind: "Machine", Name: "left"}
			a, err := ask(t, c, q)
			if err != nil || a.State != explain.Gone || a.Namespace != ns || !strings.Contains(a.Sentence, test.says) || len(a.Gaps) > 0 {
				t.Errorf("%+v, %v", a, err)
			}
			h, _, err := collect.History(t.Context(), now, collect.Clusters{Control: c, Target: c}, q)
			if err != nil || h == nil || !h.Deleted || h.UID != "uid-left" {
				t.Fatalf("%+v, %v", h, err)
			}
			var what []string
			for _, e := range h.Events {
				what = append(what, e.What)
			}
			for _, e := range test.events {
				if !slices.Contains(what, e) {
					t.Errorf("the history lacks %q: %q", e, what)
				}
			}
			if text := h.Text(); !strings.Contains(text, "does not exist any more") {
				t.Error(text)
			}
			d, err := collect.Details(t.Context(), now, collect.Clusters{Control: c, Target: c}, q)
			if err != nil || d.Departure == nil || d.Departure.Name != "left" || d.History == nil {
				t.Errorf("%+v, %v", d.Departure, err)
			}
		})
	}
}

// TestObservedDeparture: what the caller has seen counts like what is stored. A machine that exists has no departure.
func TestObservedDeparture(t *testing.T) {
	seen := postmortem.Departure{API: provider.OpenShift, Namespace: ns, Name: "seen", UID: "u", Deleted: now.Add(-time.Minute), Cause: "Rollout", Owner: "MachineSet/mill-a"}
	living := seen
	living.Name, living.UID = "mill-a-x", "uid-o"
	c := cluster(t, nil, append(atWork(), openshiftMachine("Running", time.Hour, withNodeO), node("True", "", "", time.Hour))...)
	q, clusters := collect.Question{Kind: "Machine", Name: "seen"}, collect.Clusters{Control: c, Target: c, Departures: []postmortem.Departure{seen, living}}
	if a, err := collect.Ask(t.Context(), now, clusters, q); err != nil || !strings.Contains(a.Sentence, "a rollout replaced") {
		t.Errorf("%+v, %v", a, err)
	}
	q.Name = "mill-a-x"
	if d, err := collect.Details(t.Context(), now, clusters, q); err != nil || d.Departure != nil || d.State == explain.Gone {
		t.Errorf("%+v, %v", d.Answer, err)
	}
}

// TestDeparturesNotRead: records and events that cannot be read are gaps, and an unknown machine is then not said to have
// left nothing.
func TestDeparturesNotRead(t *testing.T) {
	refuse := func(what string) error {
		if what == "*v1.EventList" || what == "*v1.ConfigMapList" {
			return errors.New("you may not")
		}
		return nil
	}
	c := cluster(t, refuse, atWork()...)
	all, gaps := collect.Departures(t.Context(), now, collect.Clusters{Control: c, Target: c}, collect.Question{})
	if len(all) > 0 || len(gaps) != 2 {
		t.Errorf("%+v, gaps %+v", all, gaps)
	}
	if a, err := ask(t, c, collect.Question{Kind: "Machine", Name: "left"}); err != nil || a.Reason != explain.ReasonNotReadable {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestCardSaysWhatThePageSays: the brief answer about a machine whose node is silent has the advice of the full one.
func TestCardSaysWhatThePageSays(t *testing.T) {
	for reason, more := range map[string][]client.Object{"with a health check": {check("watch")}, "without one": nil, "held back": {check("watch", saysC("RemediationAllowed", "TooManyUnhealthy", "too many"))}} {
		c := cluster(t, nil, append(append(atWork(), openshiftMachine("Running", 5*time.Hour, withNodeO), silent), more...)...)
		page, err := ask(t, c, collect.Question{Kind: "Machine", Name: "mill-a-x"})
		if err != nil {
			t.Fatal(err)
		}
		cards, _, err := collect.Brief(t.Context(), now, collect.Clusters{Control: c, Target: c}, collect.Question{Namespace: ns})
		if err != nil {
			t.Fatal(err)
		}
		for _, card := range cards {
			if card.Kind == "Machine" && (card.Sentence != page.Sentence || card.Next != page.Next || card.Reason != page.Reason) {
				t.Errorf("%s: the card says %q, next %q; the page says %q, next %q", reason, card.Sentence, card.Next, page.Sentence, page.Next)
			}
		}
	}
}
