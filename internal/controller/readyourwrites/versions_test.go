package readyourwrites

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestVersions: what is known of an object is what was entered last.
func TestVersions(t *testing.T) {
	noted := func(v string) func(*Versions) { return func(s *Versions) { s.Note(version("a", v)) } }
	under := func(s *Versions) { s.begin(version("a", "7")) }
	answered := func(v string, err error) func(*Versions) {
		return func(s *Versions) { s.begin(version("a", "7"))(version("a", v), err) }
	}
	forgotten := func(s *Versions) { s.Forget("a") }
	tests := map[string]struct {
		reason             string
		enter              []func(*Versions)
		version            string
		known, ours, older bool
	}{
		"nothing entered":    {"nobody wrote", nil, "7", false, false, false},
		"written":            {"it is the answer", []func(*Versions){answered("8", nil)}, "8", true, true, false},
		"before":             {"it was written over", []func(*Versions){answered("8", nil)}, "7", true, false, true},
		"long before":        {"numbers are compared as numbers", []func(*Versions){answered("10", nil)}, "9", true, false, true},
		"since":              {"somebody else wrote", []func(*Versions){answered("8", nil)}, "9", true, false, false},
		"under way":          {"it may be what is being written", []func(*Versions){under}, "9", false, true, false},
		"under way again":    {"it may be what is being written, or was before", []func(*Versions){answered("8", nil), under}, "7", true, true, true},
		"refused":            {"nothing was written", []func(*Versions){answered("8", errors.New("conflict"))}, "8", false, false, false},
		"refused over it":    {"the answer before counts", []func(*Versions){answered("8", nil), answered("9", errors.New("conflict"))}, "8", true, true, false},
		"read":               {"it is as it is", []func(*Versions){noted("8")}, "7", true, false, true},
		"went back":          {"the last counts", []func(*Versions){noted("8"), noted("5")}, "7", true, false, false},
		"forgotten":          {"nothing is known", []func(*Versions){noted("8"), forgotten}, "7", false, false, false},
		"another is written": {"they are told apart", []func(*Versions){func(s *Versions) { s.Note(version("b", "8")) }}, "7", false, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var s Versions
			for _, enter := range tc.enter {
				enter(&s)
			}
			o := version("a", tc.version)
			if s.Known(o) != tc.known || s.Ours(o) != tc.ours || s.Older(o) != tc.older {
				t.Errorf("%s: known %v, ours %v, older %v; want %v, %v, %v", tc.reason, s.Known(o), s.Ours(o), s.Older(o), tc.known, tc.ours, tc.older)
			}
		})
	}
}

// TestClientEntersVersions: while a write is under way, and by its answer; for as long as it
// is not forgotten, whatever the cache shows.
func TestClientEntersVersions(t *testing.T) {
	for _, how := range []string{"patch", "update", "patch status", "update status"} {
		t.Run(how, func(t *testing.T) {
			l, versions := lag(t, "a"), &Versions{}
			var during bool
			c := l.pass(nil)
			c.Versions = versions
			event := version("a", "1000")
			c.Client = interceptor.NewClient(c.Client.(client.WithWatch), interceptor.Funcs{
				Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					during = versions.Ours(event)
					return w.Patch(ctx, o, p, opts...)
				},
				Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
					during = versions.Ours(event)
					return w.Update(ctx, o, opts...)
				},
				SubResourcePatch: func(ctx context.Context, w client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
					during = versions.Ours(event)
					return w.SubResource(sub).Patch(ctx, o, p, opts...)
				},
				SubResourceUpdate: func(ctx context.Context, w client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
					during = versions.Ours(event)
					return w.SubResource(sub).Update(ctx, o, opts...)
				},
			})
			before := l.get(c, "a")
			l.mark(c, how, "a", "written")
			after := &corev1.Node{}
			l.must(l.server.Get(t.Context(), client.ObjectKey{Name: "a"}, after))
			if !during || versions.Ours(event) {
				t.Errorf("under way: %v, then %v", during, versions.Ours(event))
			}
			l.sync()
			l.get(c, "a")
			if !versions.Ours(after) || !versions.Older(before) || versions.Ours(before) {
				t.Errorf("ours %v, older %v, ours before %v", versions.Ours(after), versions.Older(before), versions.Ours(before))
			}
		})
	}
}
