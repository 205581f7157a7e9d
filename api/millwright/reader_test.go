package millwright_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/api/millwright"
)

// read is what a method makes of a value, as text; "" where it reads as not there.
func read(r *millwright.Reader, k millwright.Key) string {
	shown := func(v any, ok bool) string {
		if !ok {
			return ""
		}
		return fmt.Sprint(v)
	}
	switch k.Form {
	case millwright.Switch:
		return shown("on", r.On(k.Name))
	case millwright.Duration, millwright.PositiveDuration:
		d, ok := r.Duration(k.Name)
		return shown(d, ok)
	case millwright.Count:
		n, ok := r.Count(k.Name)
		return shown(n, ok)
	case millwright.Percentage:
		n, ok := r.Percentage(k.Name)
		return shown(n, ok)
	case millwright.CountOrPercentage:
		n, ok := r.CountOrPercentage(k.Name)
		return shown(n.String(), ok)
	case millwright.Word:
		w, ok := r.Word(k.Name)
		return shown(w, ok)
	case millwright.Time:
		at, ok := r.Time(k.Name)
		return shown(at.UTC(), ok)
	case millwright.List:
		l := r.List(k.Name)
		return shown(l, len(l) > 0)
	case millwright.Integer:
		n, ok := r.Integer(k.Name)
		return shown(n, ok)
	case millwright.Approval:
		n, named, bad := r.Approval(k.Name)
		return shown(fmt.Sprint(n, named), bad == "" && (n > 0 || named != nil))
	case millwright.Bound:
		n, ok := millwright.Limit(r, k.Name, strconv.Atoi)
		return shown(n, ok)
	case millwright.JSON:
		var into map[string]string
		there, err := r.JSON(k.Name, &into)
		return shown(into, there && err == nil)
	}
	return ""
}

func key(t *testing.T, name string) millwright.Key {
	t.Helper()
	all := millwright.Keys()
	i := slices.IndexFunc(all, func(k millwright.Key) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("%s is no key", name)
	}
	return all[i]
}

func TestReader(t *testing.T) {
	const none, bad = "", "bad"
	cases := []struct {
		key, value, want string // want is no value, bad, or the value
		reason           string
	}{
		{millwright.AbandonInstance, "", "on", "a switch is on with any value"},
		{millwright.AbandonInstance, "no", "on", "also with one that sounds otherwise: only one word is off"},
		{millwright.AbandonInstance, "false", none, "and that is no fault"},
		{millwright.RolloutReadyWithin, "20m", "20m0s", "a duration as Go spells it"},
		{millwright.RolloutReadyWithin, "0s", "0s", "zero is a duration"},
		{millwright.RolloutReadyWithin, "-1s", bad, "the past is no time to wait"},
		{millwright.RolloutReadyWithin, "20", bad, "a unit is needed"},
		{millwright.RebootTimeout, "5m", "5m0s", "above zero"},
		{millwright.RebootTimeout, "0s", bad, "no time at all is a mistake here"},
		{millwright.DrainTimeout, "90m", "1h30m0s", "a duration beside a word"},
		{millwright.RolloutMaxFailures, "3", "3", "a number"},
		{millwright.RolloutMaxFailures, "-1", bad, "no number of machines is negative"},
		{millwright.RolloutMaxFailures, "4294967296", bad, "nor so large"},
		{millwright.RolloutMaxFailures, "", bad, "an empty value is not an absent one"},
		{millwright.RemediationStormShare, "55%", "55", "a share"},
		{millwright.RemediationStormShare, "0%", bad, "nothing is no share"},
		{millwright.RemediationStormShare, "101%", bad, "nor more than all"},
		{millwright.RemediationStormShare, "55", bad, "a share has a sign"},
		{millwright.RolloutCanary, "10%", "10%", "a share of machines"},
		{millwright.RolloutCanary, "1", "1", "or a number"},
		{millwright.RolloutCanary, "-1%", bad, "not a negative one"},
		{millwright.RolloutCanary, "one", bad, "not a word"},
		{millwright.RemediationBreaker, "enforce", "enforce", "a word that is known"},
		{millwright.RemediationBreaker, "Enforce", bad, "words are spelled one way"},
		{millwright.EvidenceExpires, "2026-11-23T12:00:00+01:00", "2026-11-23 11:00:00 +0000 UTC", "a moment in any zone"},
		{millwright.EvidenceExpires, "tomorrow", bad, "not a word for one"},
		{millwright.NodeConditions, "A, B,,", "[A B]", "spaces and empty entries of a list mean nothing"},
		{millwright.NodeConditions, "", none, "an empty list has no value"},
		{millwright.DrainOrder, "-3", "-3", "before those without a number"},
		{millwright.DrainOrder, "first", bad, "a place is a number"},
		{millwright.ApproveOrphans, "3, aws:///a/i-1,12,", "12 [aws:///a/i-1]", "the largest number counts, and every name"},
		{millwright.ApproveOrphans, "12,all", bad, "who mistypes one may have mistyped all"},
		{millwright.ApproveOrphans, "-1", bad, "nothing is brought back"},
		{millwright.RemediationRate, "7", "7", "as the parser that was brought reads it"},
		{millwright.RemediationRate, "20%", bad, "which may refuse"},
		{millwright.Reboot, `{"a":"b"}`, "map[a:b]", "a document"},
		{millwright.Reboot, `{"a":1}`, none, "of another shape: who reads it says what that means"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			r := millwright.Read(map[string]string{c.key: c.value})
			want, faults := c.want, 0
			if want == bad {
				want, faults = none, 1
			}
			if got := read(r, key(t, c.key)); got != want || len(r.Faults()) != faults {
				t.Errorf("%s: %s=%q reads as %q with faults %v, because %s", c.key, c.key, c.value, got, r.Faults(), c.reason)
			}
		})
	}
}

func TestReaderNamesTheField(t *testing.T) {
	r := millwright.Read(map[string]string{millwright.RolloutOnFailure: "explode"})
	if _, ok := r.Word(millwright.RolloutOnFailure); ok {
		t.Error("read what is no word")
	}
	want := []millwright.Fault{{Field: "metadata.annotations[millwright.dev/rollout-on-failure]", Message: `must be "stop" or "rollback", is "explode"`}}
	if diff := cmp.Diff(want, r.Faults()); diff != "" {
		t.Error(diff)
	}
}

func TestReaderTellsWhatItMisread(t *testing.T) {
	r := millwright.Read(map[string]string{millwright.CordonLead: "soon", millwright.DrainTimeout: "90m", millwright.RebootTimeout: ""})
	_, _ = r.Duration(millwright.CordonLead)
	_, _ = r.Duration(millwright.DrainTimeout)
	for key, want := range map[string]string{millwright.CordonLead: "soon", millwright.DrainTimeout: "", millwright.RebootTimeout: ""} {
		if text, bad := r.Misread(key); text != want || bad != (want != "") {
			t.Errorf("%s was misread: %q, %v", key, text, bad)
		}
	}
	_, _ = r.Duration(millwright.RebootTimeout)
	if _, bad := r.Misread(millwright.RebootTimeout); !bad {
		t.Error("an empty value that was read counts as understood")
	}
}

func TestTextIsAsItIsWritten(t *testing.T) {
	r := millwright.Read(map[string]string{millwright.ClusterDefaults: "{ "})
	if text, ok := r.Text(millwright.ClusterDefaults); !ok || text != "{ " || len(r.Faults()) > 0 {
		t.Errorf("got %q, %v, %v", text, ok, r.Faults())
	}
	if _, ok := millwright.Read(nil).Text(millwright.ClusterDefaults); ok {
		t.Error("a text that is not there")
	}
}

func TestAbsentKeysReadAsAbsent(t *testing.T) {
	r := millwright.Read(nil)
	for _, k := range millwright.Keys() {
		if got := read(r, k); got != "" {
			t.Errorf("%s reads as %q of an object without annotations", k.Name, got)
		}
	}
	if len(r.Faults()) != 0 {
		t.Errorf("nothing is wrong with nothing, and yet %v", r.Faults())
	}
}

func TestWordBesideADuration(t *testing.T) {
	r := millwright.Read(map[string]string{millwright.DrainTimeout: "never"})
	if word, ok := r.Word(millwright.DrainTimeout); !ok || word != "never" || len(r.Faults()) != 0 {
		t.Errorf("never reads as %q with faults %v", word, r.Faults())
	}
	r = millwright.Read(map[string]string{millwright.DrainTimeout: "90m"})
	word, ok := r.Word(millwright.DrainTimeout)
	if d, there := r.Duration(millwright.DrainTimeout); ok || !there || d != 90*time.Minute || len(r.Faults()) != 0 {
		t.Errorf("90m reads as word %q and duration %v with faults %v", word, d, r.Faults())
	}
}

func TestReaderRefusesTheWrongForm(t *testing.T) {
	calls := map[string]func(*millwright.Reader){
		"a duration as a switch": func(r *millwright.Reader) { r.On(millwright.RebootTimeout) },
		"a switch as a count":    func(r *millwright.Reader) { r.Count(millwright.AbandonInstance) },
		"a count as a word":      func(r *millwright.Reader) { r.Word(millwright.RolloutMaxFailures) },
		"what is no key":         func(r *millwright.Reader) { r.Duration("millwright.dev/none") },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("was let through")
				}
			}()
			call(millwright.Read(nil))
		})
	}
}

func TestCountOrPercentageScales(t *testing.T) {
	r := millwright.Read(map[string]string{millwright.RolloutCanary: "10%"})
	n, _ := r.CountOrPercentage(millwright.RolloutCanary)
	if scaled, err := intstr.GetScaledValueFromIntOrPercent(&n, 20, true); err != nil || scaled != 2 {
		t.Errorf("10%% of 20 is %d, %v", scaled, err)
	}
}
