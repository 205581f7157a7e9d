package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stores runs a test on every store. The second argument opens the content of the first store, like another
// process.
func stores(t *testing.T, test func(t *testing.T, s Store, again func() Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		m := NewMemory()
		test(t, m, func() Store { return m })
	})
	t.Run("directory", func(t *testing.T) {
		dir := t.TempDir()
		open := func() Store {
			d, err := NewDirectory(dir)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		test(t, open(), open)
	})
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestStoreKeepsRecords(t *testing.T) {
	stores(t, func(t *testing.T, s Store, again func() Store) {
		r := Record{
			ID: "i-1", Cluster: "c", UID: "u", Name: "m", Node: "m", Created: start,
			Tags: map[string]string{"a": "b"}, Body: BodyStatus{Want: Up, PID: 7},
		}
		if err := s.Put(r); err != nil {
			t.Fatal(err)
		}
		twin := r
		twin.ID = "i-2"
		if err := s.Put(twin); err != nil {
			t.Fatal(err)
		}
		got := must[[]Record](t)(again().Get("c", r.Key()))
		if diff := cmp.Diff([]Record{r, twin}, got); diff != "" {
			t.Errorf("get (-want +got):\n%s", diff)
		}
		if other := must[[]Record](t)(s.Get("c2", r.Key())); len(other) > 0 {
			t.Errorf("another cluster sees %v", other)
		}
		for range 2 {
			if err := s.Drop(r); err != nil {
				t.Fatal(err)
			}
		}
		if got := must[[]Record](t)(again().Get("c", r.Key())); len(got) != 1 || got[0].ID != "i-2" {
			t.Errorf("after dropping one of two there are %v", got)
		}
		if got := must[[]string](t)(again().Clusters()); !cmp.Equal(got, []string{"c"}) {
			t.Errorf("clusters %v", got)
		}
	})
}

func TestStorePages(t *testing.T) {
	const machines, limit = 23, 5
	stores(t, func(t *testing.T, s Store, _ func() Store) {
		for n := range machines {
			for _, cluster := range []string{"ours", "theirs"} {
				r := Record{ID: fmt.Sprintf("i-%d", n), Cluster: cluster, UID: fmt.Sprint(cluster, n)}
				if err := s.Put(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		seen, pages := map[string]bool{}, 0
		for after := ""; ; pages++ {
			records, next, err := s.Page("ours", after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if r.Cluster != "ours" || seen[r.ID] {
					t.Errorf("page %d has %s of %s, again or foreign", pages, r.ID, r.Cluster)
				}
				seen[r.ID] = true
			}
			if next == "" {
				break
			}
			after = next
		}
		if len(seen) != machines || pages != machines/limit {
			t.Errorf("%d machines on %d full pages, want %d on %d", len(seen), pages, machines, machines/limit)
		}
	})
}

// TestStoreClaims: of many concurrent claims of one name, one succeeds, and all return the holder.
func TestStoreClaims(t *testing.T) {
	stores(t, func(t *testing.T, s Store, again func() Store) {
		const claimants = 16
		got := make([]Dependant, claimants)
		var wg sync.WaitGroup
		for n := range claimants {
			wg.Go(func() {
				var err error
				got[n], err = s.Claim("c", Dependant{Kind: NIC, Name: "m", Key: fmt.Sprint(n)})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		held, ok, err := again().Holder("c", NIC, "m")
		if err != nil || !ok {
			t.Fatalf("nobody holds the name, error %v", err)
		}
		for n, d := range got {
			if d != held {
				t.Errorf("claimant %d was told of %v, the holder is %v", n, d, held)
			}
		}
		if err := s.Release("c", held); err != nil {
			t.Fatal(err)
		}
		if left := must[[]Dependant](t)(s.Dependants("c")); len(left) > 0 {
			t.Errorf("after release there are %v", left)
		}
	})
}

// TestStoreLocks: a lock excludes other openers of the store.
func TestStoreLocks(t *testing.T) {
	stores(t, func(t *testing.T, s Store, again func() Store) {
		const workers, rounds = 8, 50
		var holders, most atomic.Int32
		var wg sync.WaitGroup
		for range workers {
			other := again()
			wg.Go(func() {
				for range rounds {
					unlock, err := other.Lock("c", "key")
					if err != nil {
						t.Error(err)
						return
					}
					most.Store(max(most.Load(), holders.Add(1)))
					runtime.Gosched()
					holders.Add(-1)
					unlock()
				}
			})
		}
		wg.Wait()
		if most.Load() != 1 {
			t.Errorf("%d held the lock at once", most.Load())
		}
	})
}

// TestStoreAccount: all concurrent openers of a store get the same account, and no other store has it.
func TestStoreAccount(t *testing.T) {
	stores(t, func(t *testing.T, s Store, again func() Store) {
		const openers = 8
		got := make([]string, openers)
		var wg sync.WaitGroup
		for n := range openers {
			other := again()
			wg.Go(func() {
				var err error
				if got[n], err = other.Account(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		want := must[string](t)(s.Account())
		for _, name := range got {
			if name != want || name == "" {
				t.Errorf("account %q and account %q", want, name)
			}
		}
		if other := must[string](t)(NewMemory().Account()); other == want {
			t.Errorf("two stores are called %q", want)
		}
	})
}

// TestDirectorySwapped: after the folder is replaced by another, a process sees another account.
func TestDirectorySwapped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cloud")
	d := must[*Directory](t)(NewDirectory(dir))
	before := must[string](t)(d.Account())
	if err := os.Rename(dir, dir+"-was"); err != nil {
		t.Fatal(err)
	}
	if name, err := d.Account(); err == nil {
		t.Errorf("a folder that is not there is account %q", name)
	}
	must[*Directory](t)(NewDirectory(dir))
	if after := must[string](t)(d.Account()); after == before {
		t.Errorf("two folders are both account %q", before)
	}
	if was := must[string](t)(must[*Directory](t)(NewDirectory(dir + "-was")).Account()); was != before {
		t.Errorf("the folder was account %q and is %q", before, was)
	}
}

func TestDirectoryNames(t *testing.T) {
	d := must[*Directory](t)(NewDirectory(t.TempDir()))
	for _, c := range []struct{ reason, name string }{
		{"a cluster name may hold anything", "../../etc"},
		{"an empty name is no folder", ""},
		{"a name may be too long for a file", strings.Repeat("x", 300)},
	} {
		r := Record{ID: "i-1", Cluster: c.name, UID: "u"}
		if err := d.Put(r); err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		if got := must[[]Record](t)(d.Get(c.name, r.Key())); len(got) != 1 {
			t.Errorf("%s: %d records", c.reason, len(got))
		}
		if _, err := d.Claim(c.name, Dependant{Kind: NIC, Name: c.name}); err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		if got := must[[]Dependant](t)(d.Dependants(c.name)); len(got) != 1 || got[0].Name != c.name {
			t.Errorf("%s: dependants %v", c.reason, got)
		}
	}
	if outside := must[[]string](t)(filepath.Glob(filepath.Join(d.root, "..", "etc*"))); len(outside) > 0 {
		t.Errorf("files outside the store: %v", outside)
	}
}

// TestDirectoryDamage: an unreadable record is an error, and does not count as absent.
func TestDirectoryDamage(t *testing.T) {
	d := must[*Directory](t)(NewDirectory(t.TempDir()))
	r := Record{ID: "i-1", Cluster: "c", UID: "u"}
	if err := d.Put(r); err != nil {
		t.Fatal(err)
	}
	path := d.cluster("c", "machines", r.Key(), "i-1.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get("c", r.Key()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("get of a damaged record: error %v does not name %s", err, path)
	}
}
