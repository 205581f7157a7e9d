package dialect

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

const (
	own     = `{"uid":"uid-1","cluster":"blue","region":"north","account":"one"}`
	foreign = `{"uid":"uid-0","cluster":"blue","region":"north","account":"one"}`
)

func keeping(origin string) *metav1.ObjectMeta {
	m := &metav1.ObjectMeta{UID: "uid-1", Annotations: map[string]string{"a": "b"}}
	if origin != "" {
		m.Annotations[OriginAnnotation] = origin
	}
	return m
}

// TestLocate: where an instance is looked for, given what labels and class say
// now: cluster green in the south.
func TestLocate(t *testing.T) {
	for name, c := range map[string]struct {
		reason, origin  string
		recorded        bool
		cluster, region string
	}{
		"nothing kept":                  {"a new machine", "", false, "green", "south"},
		"kept":                          {"the labels may have been edited since", own, false, "blue", "north"},
		"nothing was asked yet":         {"what the labels say now is used", "{}", false, "green", "south"},
		"of another machine's manifest": {"a copy of a manifest is a new machine", foreign, false, "green", "south"},
		"restored under another UID":    {"its instance is where it was", foreign, true, "blue", "north"},
		"unreadable":                    {"the object is at fault; a deletion makes do", "{", true, "green", "south"},
	} {
		t.Run(name, func(t *testing.T) {
			m := keeping(c.origin)
			got := provider.Class{Cluster: "green", Region: "south"}
			if Locate(&got, m, "", c.recorded); got.Cluster != c.cluster || got.Region != c.region {
				t.Errorf("%s: cluster %s in %s, want %s in %s: %s", name, got.Cluster, got.Region, c.cluster, c.region, c.reason)
			}
		})
	}
}

// TestRecordOrigin: it is stored once and completed, and never says otherwise.
func TestRecordOrigin(t *testing.T) {
	green := lifecycle.Origin{Cluster: "green", Region: "south", Account: "two"}
	inB := lifecycle.Origin{Cluster: "green", Region: "south", Account: "two", ChosenZone: "b"}
	for name, c := range map[string]struct {
		reason, origin string
		used           lifecycle.Origin
		want           string
		recorded       bool
	}{
		"first":              {"with the UID that it is for", "", green, `{"uid":"uid-1","cluster":"green","region":"south","account":"two"}`, false},
		"a set's machine":    {"nothing was asked before", "{}", green, `{"uid":"uid-1","cluster":"green","region":"south","account":"two"}`, false},
		"no session":         {"there is nothing to say", "", lifecycle.Origin{}, "", false},
		"stored":             {"never overwritten", own, green, own, false},
		"account learned":    {"that is no change", `{"uid":"uid-1","cluster":"green","region":"west"}`, green, `{"uid":"uid-1","cluster":"green","region":"west","account":"two"}`, false},
		"account of another": {"the scope differs, so the account is not its own", `{"uid":"uid-1","cluster":"blue"}`, green, `{"uid":"uid-1","cluster":"blue"}`, false},
		"chosen":             {"it is known once the instance is there", `{"uid":"uid-1","cluster":"green","account":"one"}`, inB, `{"uid":"uid-1","cluster":"green","account":"one","chosenZone":"b"}`, false},
		"chosen before":      {"an instance does not move", `{"uid":"uid-1","cluster":"green","account":"one","chosenZone":"a"}`, inB, `{"uid":"uid-1","cluster":"green","account":"one","chosenZone":"a"}`, false},
		"restored":           {"its instance is where it was, in the account in which it was asked for", foreign, green, own, true},
		"restored, green":    {"what was not known is completed", `{"uid":"uid-0","cluster":"green"}`, green, `{"uid":"uid-1","cluster":"green","account":"two"}`, true},
		"copied manifest":    {"from now on its own", foreign, green, `{"uid":"uid-1","cluster":"green","region":"south","account":"two"}`, false},
		"unreadable":         {"a person has to mend it", "{", green, "{", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := keeping(c.origin)
			RecordOrigin(m, c.used, c.recorded)
			if got := m.Annotations[OriginAnnotation]; got != c.want || m.Annotations["a"] != "b" {
				t.Errorf("%s: %s, want %s: %s", name, got, c.want, c.reason)
			}
		})
	}
}

// TestOrigin: the origin shows credentials of another account, also if it came with the machine from a
// backup.
func TestOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		reason, origin string
		recorded       bool
		account        string
	}{
		"its own":         {"it was asked for there", own, false, "one"},
		"copied manifest": {"nothing was asked for", foreign, false, ""},
		"restored":        {"its instance is where it was", foreign, true, "one"},
		"made of a set":   {"nothing was asked for that machine either", `{"uid":"uid-0"}`, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := Origin(keeping(c.origin), c.recorded)
			if (got == nil) != (c.account == "") || got != nil && got.Account != c.account {
				t.Errorf("%s: %+v, want account %q: %s", name, got, c.account, c.reason)
			}
		})
	}
}

// TestHoldOrigin: only of a new machine it is certain that nothing was asked.
func TestHoldOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		was  lifecycle.Machine
		want string
	}{
		"new":               {lifecycle.Machine{}, "{}"},
		"has an instance":   {lifecycle.Machine{Recorded: lifecycle.Recorded{Provisioned: true}}, ""},
		"was begun already": {lifecycle.Machine{Stage: lifecycle.StageCreating}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := keeping("")
			if HoldOrigin(m, c.was); m.Annotations[OriginAnnotation] != c.want {
				t.Errorf("%s: %q, want %q", name, m.Annotations[OriginAnnotation], c.want)
			}
		})
	}
}
