package preflight_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/preflight"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// sound returns the facts about a cluster with one healthy machine and no obstacle.
func sound(changes ...func(*preflight.Facts)) preflight.Facts {
	f := preflight.Facts{
		Definitions: []preflight.Definition{
			{Name: "machines.a", Present: true, Needed: true, Serves: []string{"v1"}, Wants: "v1"},
			{Name: "deployments.a", Wants: "v1"},
		},
		Objects: []preflight.Object{{Answer: answer("m", explain.Healthy, "runs"), Infrastructure: "kubemark"}},
		Asked:   true,
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func answer(name string, state explain.State, sentence string) explain.Answer {
	return explain.Answer{Subject: explain.Subject{API: "a", Kind: "Machine", Namespace: "blue", Name: name}, State: state, Sentence: sentence}
}

func object(change func(*preflight.Object)) func(*preflight.Facts) {
	return func(f *preflight.Facts) { change(&f.Objects[0]) }
}

func lease(holder string, ago, lasts time.Duration) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		f.Leases = []preflight.Lease{{Lease: explain.Lease{Where: "kube-system/x", Holder: holder, Renewed: now.Add(-ago), Lasts: lasts}, Leads: "a controller"}}
	}
}

// TestBlocks: Judge returns a block for each obstacle, and no block for facts that only resemble an obstacle.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		why    string
		facts  preflight.Facts
		reason string
		says   string
	}{
		{"no obstacle", sound(), "", ""},
		{"a leader that renews", sound(lease("host", 5*time.Second, time.Minute)), preflight.ReasonLeaseHeld, "a controller is at work: host holds the lease kube-system/x, renewed 5s ago"},
		{"an expired lease", sound(lease("host", time.Hour, time.Minute)), "", ""},
		{"a released lease", sound(lease("", time.Second, time.Minute)), "", ""},
		{"the holder's clock is ahead", sound(lease("host", -5*time.Second, time.Minute)), preflight.ReasonLeaseHeld, "renewed 0s ago"},
		{"neither API", sound(func(f *preflight.Facts) { f.Definitions = f.Definitions[1:] }), preflight.ReasonNoDefinition, "neither"},
		{"a required CRD is missing", sound(func(f *preflight.Facts) { f.Definitions[1].Needed = true }), preflight.ReasonMissing, "no CRD deployments.a"},
		{"a newer version beside Millwright's", sound(func(f *preflight.Facts) { f.Definitions[0].Serves = []string{"v2", "v1"} }), "", ""},
		{"a newer version instead of Millwright's", sound(func(f *preflight.Facts) { f.Definitions[0].Serves = []string{"v2"} }), preflight.ReasonVersion, "serves v2 and not v1"},
		{"an infrastructure without a provider", sound(object(func(o *preflight.Object) { o.Infrastructure = "Hetzner" })), preflight.ReasonProvider, `no provider of Millwright serves "Hetzner"`},
		{"an infrastructure of another provider", sound(object(func(o *preflight.Object) { o.Infrastructure = "Hetzner" }), func(f *preflight.Facts) { f.Served = []string{"hetzner"} }), "", ""},
		{"an object without an infrastructure: the provider judges it", sound(object(func(o *preflight.Object) { o.Infrastructure = "" })), "", ""},
		{"a field of a later version", sound(object(func(o *preflight.Object) { o.Unknown = []string{"spec.warp"} })), preflight.ReasonField, "spec.warp"},
		{"another API manages the object", sound(object(func(o *preflight.Object) { o.Authority = "ClusterAPI" })), preflight.ReasonAuthority, "ClusterAPI is in charge"},
		{"a missing right", sound(func(f *preflight.Facts) {
			f.Lacks = []preflight.Lack{{Account: "x/y", Role: "r", Rights: []string{"get z"}}}
		}), preflight.ReasonRights, "the account x/y may not do all that r has to"},
		{"an account that lacks nothing", sound(func(f *preflight.Facts) { f.Lacks = []preflight.Lack{{Account: "x/y", Role: "r"}} }), "", ""},
		{"an unreadable object is an obstacle", sound(func(f *preflight.Facts) { f.Gaps = []string{"nodes: denied"} }), preflight.ReasonUnread, "was not seen: nodes: denied"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r := preflight.Judge(now, c.facts)
			if c.reason == "" {
				if !r.Ready || len(r.Blocks) > 0 {
					t.Errorf("%s: blocks %+v, want none", c.why, r.Blocks)
				}
				return
			}
			if r.Ready || len(r.Blocks) != 1 || r.Blocks[0].Reason != c.reason || !strings.Contains(r.Blocks[0].What, c.says) || r.Blocks[0].Do == "" {
				t.Errorf("%s: blocks %+v; want %s, %q", c.why, r.Blocks, c.reason, c.says)
			}
		})
	}
}

// TestEffects: a healthy object stays the same, a change that has begun continues, and Millwright watches unhealthy
// objects.
func TestEffects(t *testing.T) {
	for _, c := range []struct {
		why    string
		change func(*preflight.Object)
		effect preflight.Effect
		says   string
	}{
		{"healthy", func(*preflight.Object) {}, preflight.Bookkeeping, ""},
		{"under deletion", func(o *preflight.Object) {
			o.Deleting, o.State, o.Sentence = true, explain.Deleting, "Machine blue/m drains"
		}, preflight.Continues, "its deletion goes on from where it is: it drains"},
		{"under deletion during a rollout", func(o *preflight.Object) { o.Deleting, o.Does = true, "rolls" }, preflight.Continues, "its deletion goes on from where it is: runs"},
		{"during a rollout", func(o *preflight.Object) { o.State, o.Does = explain.Progressing, "creates 1 machine" }, preflight.Continues, "creates 1 machine"},
		{"progressing", func(o *preflight.Object) { o.State, o.Sentence = explain.Progressing, "joins" }, preflight.Continues, "joins"},
		{"degraded", func(o *preflight.Object) { o.State, o.Sentence = explain.Degraded, "is not ready" }, preflight.Watches, "is not ready"},
		{"failed", func(o *preflight.Object) { o.State, o.Sentence = explain.Failed, "has failed" }, preflight.Watches, "has failed"},
	} {
		t.Run(c.why, func(t *testing.T) {
			r := preflight.Judge(now, sound(object(c.change)))
			v := r.Objects[0]
			if v.Effect != c.effect || v.Text != c.says || r.Quiet != (c.effect == preflight.Bookkeeping) || !r.Ready {
				t.Errorf("%s: verdict %+v, quiet %v, ready %v; want %s, %q", c.why, v, r.Quiet, r.Ready, c.effect, c.says)
			}
		})
	}
}

// TestUnder: the sets and machines below a deployment with a rollout have the deployment's effect, not Bookkeeping.
func TestUnder(t *testing.T) {
	d, s, other := answer("d", explain.Progressing, ""), answer("s", explain.Healthy, ""), answer("gone", explain.Healthy, "")
	f := sound(object(func(o *preflight.Object) { o.Owner = &s.Subject }), func(f *preflight.Facts) {
		f.Objects = append(f.Objects, preflight.Object{Answer: s, Owner: &d.Subject}, preflight.Object{Answer: d, Does: "rolls"},
			preflight.Object{Answer: answer("orphan", explain.Healthy, ""), Owner: &other.Subject})
	})
	for i, want := range []*explain.Subject{&d.Subject, &d.Subject, nil, nil} {
		v := preflight.Judge(now, f).Objects[i]
		if (want == nil) != (v.Under == nil) || want != nil && (*v.Under != *want || v.Effect != preflight.Continues) {
			t.Errorf("%s has effect %s under %v; want under %v", v.Name, v.Effect, v.Under, want)
		}
	}
	if text := preflight.Judge(now, f).Text(); !strings.Contains(text, "Nothing but bookkeeping for 1 Machine of a.") || strings.Count(text, "  - ") != 1 {
		t.Errorf("the text lists the sets and machines of a rollout separately:\n%s", text)
	}
}

// TestTextFits: the text has at most 80 columns, names some of many objects, and counts the others.
func TestTextFits(t *testing.T) {
	f := sound(lease("host", 5*time.Second, time.Minute), object(func(o *preflight.Object) { o.Infrastructure = "Hetzner" }))
	for range 40 {
		f.Objects = append(f.Objects, preflight.Object{Answer: answer("mill-worker-europe-west1-b", explain.Degraded, "waits for something that takes long and says so at length"), Infrastructure: "Hetzner"})
	}
	f.Asked = false
	text := preflight.Judge(now, f).Text()
	for line := range strings.Lines(text) {
		if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
			t.Errorf("a line has more than 80 columns: %s", line)
		}
	}
	for _, want := range []string{"38 more", "and 10 more", "Nothing but bookkeeping for 1 Machine of a.", "The way back", "--rights"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}
