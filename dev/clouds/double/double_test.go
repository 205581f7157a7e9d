package double_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

func TestTableLags(t *testing.T) {
	clock := &double.Clock{}
	table := double.NewTable[string](clock)
	table.Put("a", "first")
	clock.Advance(time.Minute)
	table.Put("a", "second")
	clock.Advance(time.Minute)
	table.Delete("a")
	for lag, want := range map[time.Duration]string{0: "", 30 * time.Second: "second", 90 * time.Second: "first", time.Hour: ""} {
		if got, ok := table.GetBehind("a", lag); got != want || ok != (want != "") {
			t.Errorf("%v ago there was %q, %v; want %q", lag, got, ok, want)
		}
		if got := strings.Join(table.AllBehind(lag), ","); got != want {
			t.Errorf("%v ago there were %q, want %q", lag, got, want)
		}
	}
}

func TestTableForgets(t *testing.T) {
	clock := &double.Clock{}
	table := double.NewTable[int](clock)
	table.Put("a", 1)
	clock.Advance(time.Hour)
	for i := range 3 {
		table.Put("a", i)
	}
	if got, ok := table.GetBehind("a", 30*time.Minute); !ok || got != 1 {
		t.Errorf("half an hour ago there was %d, %v", got, ok)
	}
}

func TestInsertKeepsWhatIsThere(t *testing.T) {
	table := double.NewTable[int](&double.Clock{})
	if v, ok := table.Insert("a", 1); v != 1 || !ok {
		t.Error("nothing was inserted")
	}
	if v, ok := table.Insert("a", 2); v != 1 || ok {
		t.Errorf("inserted over %d", v)
	}
	if !table.Update("a", func(n int) int { return n + 2 }) || table.Update("b", func(n int) int { return n }) {
		t.Error("updated what is not there, or not what is")
	}
	if v, _ := table.Get("a"); v != 3 {
		t.Errorf("a is %d", v)
	}
}

// echo is a cloud whose operations are methods, and which counts its changes.
type echo struct{ did int }

func (e *echo) Operation(r *http.Request, _ []byte) (string, bool) {
	return r.Method, r.Method != http.MethodGet
}

func (e *echo) Serve(w http.ResponseWriter, _ *http.Request, body []byte) {
	e.did++
	_, _ = w.Write(body)
}

func (e *echo) Fail(w http.ResponseWriter, _ *http.Request, f double.Failure) {
	http.Error(w, f.Kind, http.StatusTeapot)
}

func ask(t *testing.T, s *double.Server, method, path, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))
	answer, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, strings.TrimSpace(string(answer))
}

func TestFaultsHitWhatTheyAreFor(t *testing.T) {
	cloud := &echo{}
	s := double.NewServer(&double.Clock{}, cloud)
	s.Inject(double.Fault{Failure: double.Failure{Kind: "Denied"}, Operation: "P*", Times: 2})
	s.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "PUT", Times: 1, Done: true})
	for i, want := range []struct {
		method, answer string
		did            int
	}{{"GET", "x", 1}, {"POST", "Denied", 1}, {"PUT", "Denied", 1}, {"POST", "x", 2}, {"PUT", "Transient", 3}, {"PUT", "x", 4}} {
		if _, answer := ask(t, s, want.method, "/", "x"); answer != want.answer || cloud.did != want.did {
			t.Errorf("%d: %s answered %q after %d, want %+v", i, want.method, answer, cloud.did, want)
		}
	}
	if n := s.Counts()["PUT"]; n != 3 {
		t.Errorf("%d requests are counted", n)
	}
}

func TestFaultSkips(t *testing.T) {
	cloud := &echo{}
	s := double.NewServer(&double.Clock{}, cloud)
	s.Inject(double.Fault{Failure: double.Failure{Kind: "Denied"}, Writes: true, Skip: 2, Times: 1})
	var answers []string
	for _, method := range []string{"PUT", "GET", "POST", "GET", "PUT", "PUT"} {
		_, answer := ask(t, s, method, "/", "x")
		answers = append(answers, answer)
	}
	if got := strings.Join(answers, " "); got != "x x x x Denied x" || cloud.did != 5 {
		t.Errorf("answered %s, and did %d; the third request that writes is to be hit, and no other", got, cloud.did)
	}
}

func TestLimits(t *testing.T) {
	clock := &double.Clock{}
	s := double.NewServer(clock, &echo{})
	s.Limit(double.Limit{Operation: "POST", PerSecond: 1, Burst: 2})
	answers := func() (all []string) {
		for _, method := range []string{"POST", "POST", "POST", "GET"} {
			_, answer := ask(t, s, method, "/", "x")
			all = append(all, answer)
		}
		return all
	}
	if got := strings.Join(answers(), " "); got != "x x Throttled x" {
		t.Error(got)
	}
	clock.Advance(time.Minute)
	if got := strings.Join(answers(), " "); got != "x x Throttled x" {
		t.Error(got)
	}
}

func TestConsole(t *testing.T) {
	s := double.NewServer(&double.Clock{}, &echo{})
	ask(t, s, "POST", "/_double/faults", `{"kind":"Garbage"}`)
	if code, answer := ask(t, s, "GET", "/", ""); code != http.StatusOK || !strings.Contains(answer, "<html>") {
		t.Errorf("%d %s", code, answer)
	}
	ask(t, s, "DELETE", "/_double/faults", "")
	if _, answer := ask(t, s, "PUT", "/", "x"); answer != "x" {
		t.Error(answer)
	}
	if code, answer := ask(t, s, "GET", "/_double/instances", ""); code != http.StatusBadRequest {
		t.Error(code, answer)
	}
	if _, answer := ask(t, s, "GET", "/_double/requests", ""); answer != `{"GET":1,"PUT":1}` {
		t.Error(answer)
	}
}

// TestLog: a caller that asks for the requests since its last call gets each request once, with its outcome.
func TestLog(t *testing.T) {
	s := double.NewServer(&double.Clock{}, &echo{})
	s.Inject(double.Fault{Failure: double.Failure{Kind: "Throttled"}, Operation: "PUT", Times: 1})
	s.Limit(double.Limit{Operation: "POST", PerSecond: 1, Burst: 1})
	after := 0
	since := func() (said string) {
		_, answer := ask(t, s, "GET", "/_double/log?after="+strconv.Itoa(after), "")
		var l double.Log
		if err := json.Unmarshal([]byte(answer), &l); err != nil {
			t.Fatal(err)
		}
		after = l.Answered
		for _, r := range l.Requests {
			said += fmt.Sprintf("%s %t, ", r.Operation, r.Throttled)
		}
		return said
	}
	for _, method := range []string{"GET", "PUT", "POST", "POST"} {
		ask(t, s, method, "/", "x")
	}
	if got, want := since(), "GET false, PUT true, POST false, POST true, "; got != want {
		t.Errorf("%s want %s", got, want)
	}
	ask(t, s, "PUT", "/", "x")
	if got := since() + since(); got != "PUT false, " {
		t.Error(got)
	}
	if code, _ := ask(t, s, "GET", "/_double/log?after=all", ""); code != http.StatusBadRequest {
		t.Error("what is no number is taken for one")
	}
}

// yard is a host, and a hypervisor that records its calls.
type yard struct {
	guests chan []double.Guest
	last   []double.Guest
	told   chan string
}

func (y *yard) Guests() []double.Guest {
	select {
	case y.last = <-y.guests:
	default:
	}
	return y.last
}

func (y *yard) Start(_ context.Context, g double.Guest) error { y.told <- "start " + g.ID; return nil }
func (y *yard) Stop(id string)                                { y.told <- "stop " + id }

func TestGuestsLive(t *testing.T) {
	y := &yard{guests: make(chan []double.Guest, 1), told: make(chan string, 10)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { double.Live(ctx, y, y, nil); close(ended) }()
	expect := func(want ...string) {
		t.Helper()
		for _, w := range want {
			if got := <-y.told; got != w {
				t.Errorf("%s, want %s", got, w)
			}
		}
	}
	y.guests <- []double.Guest{{ID: "a"}}
	expect("start a")
	y.guests <- []double.Guest{{ID: "a", Boots: 1}}
	expect("stop a", "start a")
	y.guests <- nil
	expect("stop a")
	y.guests <- []double.Guest{{ID: "b"}}
	expect("start b")
	cancel()
	expect("stop b")
	<-ended
}
