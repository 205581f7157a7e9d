package limits

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		reason            string
		guard             *Growth
		wanted, there, is int
		says              string
	}{
		{"nobody asked", nil, 1000, 3, 1000, ""},
		{"within the share", &Growth{Limit: Limit{50, 1}}, 15, 10, 15, ""},
		{"one too many", &Growth{Limit: Limit{50, 1}}, 16, 10, 10, `6 machines would be added to 10, and at most 5 may be at once; annotation millwright.dev/approve-mass-creation: "6" approves it`},
		{"approved", &Growth{Limit: Limit{50, 1}, Approved: 6}, 16, 10, 16, ""},
		{"fewer were approved", &Growth{Limit: Limit{50, 1}, Approved: 5}, 1000, 10, 10, "990 machines"},
		{"one may always come", &Growth{Limit: Limit{10, 1}}, 4, 3, 4, ""},
		{"what was lost is made again", &Growth{Limit: Limit{10, 1}, Known: 10}, 10, 2, 10, ""},
		{"and no more", &Growth{Limit: Limit{10, 1}, Known: 10}, 30, 2, 10, "20 machines would be added to 10"},
		{"a set that is new", &Growth{Limit: Limit{10, 1}}, 30, 0, 30, ""},
		{"from nothing again", &Growth{Limit: Limit{10, 1}}, 0, 5, 0, ""},
		{"what was not understood is said", &Growth{Limit: Limit{20, 1}, Misread: "x is no share"}, 30, 5, 5, "x is no share"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			is, why := c.guard.Hold(c.wanted, c.there)
			if is != c.is || !strings.Contains(why, c.says) || (why == "") != (c.says == "") {
				t.Errorf("%s: %d, %q", c.reason, is, why)
			}
		})
	}
}

// TestGrowthIsNeverMore: the size is never more than the wanted or the present number, and without a message
// it is the wanted number.
func TestGrowthIsNeverMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300)
		g := &Growth{Limit: Limit{rapid.IntRange(1, 100).Draw(t, "percent"), 1}, Approved: n.Draw(t, "approved"), Known: n.Draw(t, "known")}
		wanted, there := n.Draw(t, "wanted"), n.Draw(t, "there")
		size, why := g.Hold(wanted, there)
		if base := max(there, g.Known); why == "" && size != wanted || why != "" && (size != base || base >= wanted) {
			t.Fatalf("%d of %d wanted, %d there: %q", size, wanted, there, why)
		}
	})
}
