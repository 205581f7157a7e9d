package double_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// farm is a cloud whose instances are created by PUT /name and deleted by DELETE /name, with a key.
type farm struct {
	echo
	key     string
	revoked bool
	has     map[string]double.Listed
	full    map[string]bool
}

func newFarm(key string) *farm {
	return &farm{key: key, has: map[string]double.Listed{}, full: map[string]bool{}}
}

func (f *farm) Serve(w http.ResponseWriter, r *http.Request, _ []byte) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case f.revoked || r.URL.RawQuery != f.key:
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodPut:
		f.has[name] = double.Listed{ID: name, Name: "n-" + name, Tags: map[string]string{"for-" + name: "x-" + name}}
	case r.Method == http.MethodDelete:
		delete(f.has, name)
	}
}

func (f *farm) Guests() (all []double.Guest) {
	for id := range f.has {
		all = append(all, double.Guest{ID: id})
	}
	return all
}
func (f *farm) Instances() []double.Listed { return slices.Collect(maps.Values(f.has)) }
func (f *farm) Orphans() []string          { return []string{"disk"} }
func (f *farm) Verbs() []double.Verb       { return []double.Verb{{Name: "fell", On: "an ID"}} }
func (f *farm) Exhausted() []string        { return double.Places(f.full, true) }
func (f *farm) Revoke()                    { f.revoked = true }
func (f *farm) Restore()                   { f.revoked = false }

func (f *farm) Do(verb, on string) error {
	if verb == "exhaust" || verb == "restock" {
		f.full[on] = verb == "exhaust"
		return nil
	}
	if _, ok := f.has[on]; !ok || verb != "fell" {
		return errors.New("not here")
	}
	delete(f.has, on)
	return nil
}

func (f *farm) Issue(string) (map[string]string, error) {
	was := f.key
	f.key, f.revoked = was+"-next", false
	return map[string]string{was: f.key}, nil
}

func (f *farm) PlantLike(id string, rename func(string) string) error {
	i := f.has[id]
	i.ID, i.Name, i.Tags = id+"-planted", rename(i.Name), double.Renamed(i.Tags, rename)
	f.has[i.ID] = i
	return nil
}

// lives are the IDs of the instances that a simulator has recorded, with a "+" after those that have
// ended.
func lives(t *testing.T, s *double.Server) string {
	t.Helper()
	_, answer := ask(t, s, "GET", "/_double/lives", "")
	var all []double.Life
	if err := json.Unmarshal([]byte(answer), &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range all {
		if !l.Ended.IsZero() {
			l.ID += "+"
		}
		out = append(out, l.ID)
	}
	return strings.Join(out, " ")
}

func TestLivesAreRemembered(t *testing.T) {
	s := double.NewServer(&double.Clock{}, newFarm("k"))
	ask(t, s, "PUT", "/early?k", "")
	if got := lives(t, s); got != "" {
		t.Errorf("%q is recorded, but no client asked for it", got)
	}
	ask(t, s, "POST", "/_double/lives", "")
	for _, step := range []struct{ reason, method, path, want string }{
		{"what was there is remembered, too", "GET", "/", "early"},
		{"one is made", "PUT", "/a?k", "early a"},
		{"one is ended", "DELETE", "/early?k", "early+ a"},
		{"one that a fault hides from its maker", "PUT", "/b?k", "early+ a b"},
		{"one ends by a verb", "POST", "/_double/do/fell?on=b", "early+ a b+"},
		{"another one under its ID is another life", "PUT", "/b?k", "early+ a b+ b"},
	} {
		if strings.Contains(step.reason, "fault") {
			s.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Times: 1, Done: true})
		}
		ask(t, s, step.method, step.path, "")
		if got := lives(t, s); got != step.want {
			t.Errorf("%s: %q, want %q", step.reason, got, step.want)
		}
	}
}

// A request that names an instance explains its end. The end of another instance, which a client's write only reveals, is
// not explained by the request, nor is an end by a verb of the console.
func TestLivesSayWhoEndedThem(t *testing.T) {
	f := newFarm("k")
	s := double.NewServer(&double.Clock{}, f)
	ask(t, s, "POST", "/_double/lives", "")
	for _, name := range []string{"first", "second", "third"} {
		ask(t, s, "PUT", "/"+name+"?k", "")
	}
	ask(t, s, "DELETE", "/first?k", "")
	delete(f.has, "second")
	ask(t, s, "POST", "/other?k", "")
	ask(t, s, "POST", "/_double/do/fell?on=third", "")
	for _, l := range s.Lives() {
		switch requested := !l.Ending.IsZero(); {
		case requested != (l.ID == "first"):
			t.Errorf("%s: requested is %v", l.ID, requested)
		case l.Seen.IsZero() || l.Ended.Before(l.Seen) || l.Seen.Before(l.Since):
			t.Errorf("%s: since %v, seen %v, ended %v", l.ID, l.Since, l.Seen, l.Ended)
		}
	}
}

func TestFaultsOfWrites(t *testing.T) {
	s := double.NewServer(&double.Clock{}, &echo{})
	s.Inject(double.Fault{Failure: double.Failure{Kind: "Denied"}, Writes: true})
	for method, want := range map[string]string{"GET": "x", "PUT": "Denied"} {
		if _, answer := ask(t, s, method, "/", "x"); answer != want {
			t.Errorf("%s answers %q, want %q", method, answer, want)
		}
	}
}

func TestCredentialsAreRevokedAndIssued(t *testing.T) {
	s := double.NewServer(&double.Clock{}, newFarm("k"))
	in := func(key string) bool {
		code, _ := ask(t, s, "GET", "/?"+key, "")
		return code == http.StatusOK
	}
	for _, step := range []struct {
		page       string
		old, other bool
	}{{"do/restore", true, false}, {"do/revoke", false, false}, {"do/restore", true, false}, {"do/revoke", false, false}, {"issue", false, true}} {
		code, answer := ask(t, s, "POST", "/_double/"+step.page, "")
		if got, other := in("k"), in("k-next"); code != http.StatusOK || got != step.old || other != step.other {
			t.Errorf("after %s (%s) the old key lets in: %v, the new one: %v; want %v and %v", step.page, answer, got, other, step.old, step.other)
		}
	}
	if _, answer := ask(t, s, "GET", "/_double/instances", ""); !strings.Contains(answer, `"name":"revoke"`) {
		t.Errorf("the verb is not listed: %s", answer)
	}
}

func TestPlanted(t *testing.T) {
	f := newFarm("k")
	s := double.NewServer(&double.Clock{}, f)
	ask(t, s, "PUT", "/a?k", "")
	if code, answer := ask(t, s, "POST", "/_double/do/plant?on=a&n-a=other&n=wrong&x=y", ""); code != http.StatusOK {
		t.Fatal(answer)
	}
	if got := f.has["a-planted"]; got.Name != "other" || got.Tags["for-a"] != "y-a" {
		t.Errorf("%+v was planted: the longest name is replaced first, and tags as well", got)
	}
}

// TestAccounts: each account is a separate cloud, and IDs of the second account begin with its name.
func TestAccounts(t *testing.T) {
	first, second := newFarm("k"), newFarm("k")
	all := double.NewAccounts(func(r *http.Request, _ []byte) string { return r.Host }, double.Account{Name: "one", Cloud: first}, double.Account{Name: "two", Cloud: second})
	s := double.NewServer(&double.Clock{}, all)
	for _, path := range []string{"http://one/a?k", "http://two/a?k", "http://three/b?k"} {
		ask(t, s, "PUT", path, "")
	}
	var ids []string
	for _, i := range all.Instances() {
		ids = append(ids, i.Account+":"+i.ID)
	}
	slices.Sort(ids)
	if got := strings.Join(ids, " "); got != "one:a one:b two:two/a" {
		t.Errorf("%s", got)
	}
	if n := len(all.Guests()); n != 3 {
		t.Errorf("%d guests", n)
	}
	if err := errors.Join(all.Do("fell", "two/a"), all.PlantLike("b", strings.ToUpper)); err != nil || len(second.has) != 0 || first.has["b-planted"].Name != "N-B" {
		t.Errorf("%v: %v %v", err, first.has, second.has)
	}
	all.Revoke()
	if !first.revoked || second.revoked {
		t.Error("credentials of the first account are revoked, and no others")
	}
	if got, err := all.Issue("two"); err != nil || got["k"] != "k-next" || first.key != "k" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := all.Issue("four"); err == nil {
		t.Error("credentials of an account that is not there were issued")
	}
	if got := strings.Join(all.Orphans(), " "); got != "disk two/disk" {
		t.Error(got)
	}
}

// The console says which places have no capacity, and requires a place: an omitted one would change nothing.
func TestConsoleListsExhaustedPlaces(t *testing.T) {
	all := double.NewAccounts(func(*http.Request, []byte) string { return "one" }, double.Account{Name: "one", Cloud: newFarm("k")}, double.Account{Name: "two", Cloud: newFarm("l")})
	s := double.NewServer(&double.Clock{}, all)
	for _, step := range []struct {
		page string
		code int
		want string
	}{
		{"do/exhaust?on=b", http.StatusOK, `"exhausted":["b"]`},
		{"do/exhaust?on=a", http.StatusOK, `"exhausted":["a","b"]`},
		{"do/exhaust?on=two/c", http.StatusOK, `"exhausted":["a","b","two/c"]`},
		{"do/restock?on=b", http.StatusOK, `"exhausted":["a","two/c"]`},
		{"do/exhaust", http.StatusBadRequest, "exhaust: name the place, such as a zone"},
	} {
		if code, got := ask(t, s, http.MethodPost, double.ConsolePath+step.page, ""); code != step.code || !strings.Contains(got, step.want) {
			t.Errorf("%s: %d %s, want %d with %s", step.page, code, got, step.code, step.want)
		}
	}
}
