package provider_test

import (
	"slices"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// TestTokenNeverChanges: clouds remember our tokens. A release that computes other tokens creates second
// instances for machines whose creation was in progress. The values are those of sha256sum over
// "prod/<UID>/0" and so on.
func TestTokenNeverChanges(t *testing.T) {
	ref := provider.Ref{UID: "0b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e", Namespace: "ns", Name: "m"}
	renamed := ref
	renamed.Namespace, renamed.Name, renamed.ProviderID = "other", "other", "x://y"
	cases := []struct {
		reason, cluster string
		ref             provider.Ref
		want            string
	}{
		{"a machine", "prod", ref, "9824b30e99a3e3032661a4e14e1b7305"},
		{"another cluster is another world", "test", ref, "f7ab4d9749823a1434fa0707e5bd468c"},
		{"only the UID is identity", "prod", renamed, "9824b30e99a3e3032661a4e14e1b7305"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := c.ref.Token(c.cluster); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestExistingIsInOneOrderForAll(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	all := []provider.Instance{
		{ID: "c", Created: at(2), State: provider.Running},
		{ID: "gone", Created: at(0), State: provider.Terminated},
		{ID: "b", Created: at(1), State: provider.Stopping},
		{ID: "a", Created: at(2), State: provider.Pending},
		{ID: "unknown", State: provider.Stopped},
	}
	want := []string{"unknown", "b", "a", "c"}
	before := slices.Clone(all)
	for range len(all) {
		all = append(all[1:], all[0])
		var got []string
		for _, i := range provider.Existing(all) {
			got = append(got, i.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	provider.Existing(before)
	if before[1].ID != "gone" {
		t.Error("the argument has changed")
	}
}
