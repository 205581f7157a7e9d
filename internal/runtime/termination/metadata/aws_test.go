package metadata

import (
	"net/http"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

const awsHeader = "X-aws-ec2-metadata-token"

// imds is a simulator of the service that requires tokens, as for new instances today.
type imds struct {
	*double
	token string // what is accepted
	ttl   string
}

func newIMDS(t *testing.T, pages map[string]page) *imds {
	t.Helper()
	if pages == nil {
		pages = map[string]page{}
	}
	if _, ok := pages["GET "+awsInstance]; !ok {
		pages["GET "+awsInstance] = page{body: "i-0123456789abcdef0"}
	}
	s := &imds{double: newDouble(t, pages), token: "AQAEAH==", ttl: "21600"}
	s.guard = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == awsToken {
			if p, ok := pages["PUT "+awsToken]; ok {
				p.serve(w, r)
				return true
			}
			if r.Method != http.MethodPut || r.Header.Get(awsHeader+"-ttl-seconds") != "21600" {
				w.WriteHeader(http.StatusBadRequest)
				return true
			}
			w.Header().Set(awsHeader+"-ttl-seconds", s.ttl)
			_, _ = w.Write([]byte(s.token))
			return true
		}
		if s.token != "" && r.Header.Get(awsHeader) != s.token {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	}
	return s
}

func newAWS(s *imds) (*AWS, *testclock.FakePassiveClock) {
	c := testclock.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	return NewAWS(NewHTTP(), s.URL, c), c
}

func TestAWS(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const events = `[{"NotBefore":"21 Nov 2026 12:00:00 GMT","Code":"system-reboot","Description":"scheduled reboot","EventId":"instance-event-1","NotAfter":"21 Nov 2026 14:00:00 GMT","State":"active"},` +
		`{"NotBefore":"1 Nov 2026 12:00:00 GMT","Code":"instance-stop","Description":"[Completed] over","EventId":"instance-event-0","State":"completed"},` +
		`{"NotBefore":"1 Nov 2026 12:00:00 GMT","Code":"instance-reboot","Description":"[Canceled] no","EventId":"instance-event-2","State":"canceled"}]`
	terminate := interruption.Notice{Kind: interruption.Termination, Action: "terminate", At: noon}
	stop := interruption.Notice{Kind: interruption.Termination, Action: "stop", At: noon}
	timeless := interruption.Notice{Kind: interruption.Termination, Action: "terminate"}
	rebalance := interruption.Notice{Kind: interruption.Rebalance, Action: "rebalance recommendation", Detail: "since 2026-11-21T12:00:00Z"}
	reboot := interruption.Notice{Kind: interruption.Maintenance, Action: "system-reboot", At: noon, Detail: "scheduled reboot"}
	others := clear(interruption.Rebalance, interruption.Maintenance)
	report := func(clear map[interruption.Kind]bool, notices ...interruption.Notice) interruption.Report {
		return interruption.Report{Notices: notices, Clear: clear}
	}
	cases := []struct {
		reason string
		pages  map[string]page
		want   interruption.Report
		fails  string
	}{
		{reason: "10: negative: 404", want: report(all)},
		{reason: "10: positive: 2xx of termination-time", pages: map[string]page{"GET " + awsTermination: {body: "2026-11-21T12:00:00Z"}}, want: report(nil, terminate)},
		{reason: "10: the body is ignored", pages: map[string]page{"GET " + awsTermination: {body: "not-a-time"}}, want: report(nil, timeless)},
		{reason: "10: also an empty one", pages: map[string]page{"GET " + awsTermination: {status: 204}}, want: report(nil, timeless)},
		{reason: "10: any other error is no notice, and takes none back", pages: map[string]page{"GET " + awsTermination: {status: 500}}, want: report(others), fails: "answered 500"},
		{reason: "metadata is switched off", pages: map[string]page{"GET " + awsTermination: {status: 403}}, want: report(others), fails: "answered 403"},
		{reason: "a page instead of a value", pages: map[string]page{"GET " + awsTermination: {body: "<html>please log in</html>"}}, want: report(others), fails: "not a value"},
		{reason: "half a body", pages: map[string]page{"GET " + awsTermination: {body: "2026-11-21T12:00:00Z", cut: true}}, want: report(others), fails: "unexpected EOF"},
		{reason: "instance-action: the instance is stopped", pages: map[string]page{"GET " + awsAction: {body: `{"action": "stop", "time": "2026-11-21T12:00:00Z"}`}}, want: report(nil, stop)},
		{reason: "instance-action: garbage", pages: map[string]page{"GET " + awsAction: {body: `{"action": "st`}}, want: report(others), fails: "not an action"},
		{reason: "instance-action: no action", pages: map[string]page{"GET " + awsAction: {body: `{}`}}, want: report(others), fails: "not an action"},
		{
			reason: "one place fails, the other tells: that counts",
			pages:  map[string]page{"GET " + awsTermination: {body: "2026-11-21T12:00:00Z"}, "GET " + awsAction: {status: 500}},
			want:   report(nil, terminate), fails: "answered 500",
		},
		{
			reason: "rebalance recommendation", pages: map[string]page{"GET " + awsRebalance: {body: `{"noticeTime":"2026-11-21T12:00:00Z"}`}},
			want: report(clear(interruption.Termination, interruption.Maintenance), rebalance),
		},
		{
			reason: "rebalance: garbage", pages: map[string]page{"GET " + awsRebalance: {body: `[]`}},
			want: report(clear(interruption.Termination, interruption.Maintenance)), fails: "not the time of a recommendation",
		},
		{
			reason: "scheduled maintenance, without what is over", pages: map[string]page{"GET " + awsMaintenance: {body: events}},
			want: report(clear(interruption.Termination, interruption.Rebalance), reboot),
		},
		{reason: "maintenance: an empty list is none", pages: map[string]page{"GET " + awsMaintenance: {body: `[]`}}, want: report(all)},
		{
			reason: "maintenance: garbage", pages: map[string]page{"GET " + awsMaintenance: {body: `null`}},
			want: report(clear(interruption.Termination, interruption.Rebalance)), fails: "not a list of events",
		},
		{
			reason: "maintenance: an event without a code", pages: map[string]page{"GET " + awsMaintenance: {body: `[{}]`}},
			want: report(clear(interruption.Termination, interruption.Rebalance)), fails: "not a list of events with codes",
		},
		{
			reason: "something that answers 404 to everything has said nothing",
			pages:  map[string]page{"GET " + awsInstance: {status: 404}}, want: report(nil), fails: "answered 404",
		},
		{
			reason: "something that answers the same to everything neither",
			pages:  map[string]page{"GET " + awsInstance: {body: "welcome"}}, want: report(nil), fails: "not the ID of an instance",
		},
		{
			reason: "a notice counts although the rest is dark",
			pages:  map[string]page{"GET " + awsTermination: {body: "2026-11-21T12:00:00Z"}, "GET " + awsInstance: {status: 500}}, want: report(nil, terminate),
		},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			aws, _ := newAWS(newIMDS(t, c.pages))
			look(t, c.reason, aws, c.want, c.fails)
		})
	}
}

func TestAWSTokens(t *testing.T) {
	s := newIMDS(t, nil)
	aws, now := newAWS(s)
	fetched := func(reason string, want int) {
		t.Helper()
		look(t, reason, aws, interruption.Report{Clear: all}, "")
		if got := s.times("PUT " + awsToken); got != want {
			t.Errorf("%s: %d tokens were fetched so far, want %d", reason, got, want)
		}
	}
	fetched("the first look fetches a token", 1)
	now.SetTime(now.Now().Add(6*time.Hour - 2*time.Minute))
	fetched("it is used as long as it holds", 1)
	now.SetTime(now.Now().Add(2 * time.Minute))
	fetched("another is fetched before its end", 2)
	s.token = "REVOKED=="
	fetched("one that is refused is replaced at once", 3)
	s.ttl = "120"
	s.token = "SHORT=="
	fetched("the service decides how long it holds", 4)
	now.SetTime(now.Now().Add(time.Minute))
	fetched("and is believed", 5)
}

// A token that is refused again and again ends the question, and answers
// nothing.
func TestAWSTokenIsNeverAccepted(t *testing.T) {
	s := newIMDS(t, nil)
	s.guard = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			_, _ = w.Write([]byte("worthless"))
			return true
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	aws, _ := newAWS(s)
	look(t, "401 for ever", aws, interruption.Report{}, "answered 401")
	if got := s.times("GET " + awsTermination); got != 2 {
		t.Errorf("termination-time was asked for %d times in one look, want 2", got)
	}
}

func TestAWSWithoutTokens(t *testing.T) {
	cases := []struct {
		reason  string
		put     page
		insists bool
		want    interruption.Report
		fails   string
	}{
		{reason: "a service from before there were tokens", put: page{status: 404}, want: interruption.Report{Clear: all}},
		{reason: "tokens are refused, and not needed", put: page{status: 403}, want: interruption.Report{Clear: all}},
		{reason: "a token that cannot be one is not sent", put: page{body: "two\r\nlines"}, want: interruption.Report{Clear: all}},
		{reason: "no token is to be had, and one is needed", put: page{status: 503}, insists: true, fails: "answered 503"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			s := newIMDS(t, map[string]page{"PUT " + awsToken: c.put})
			if !c.insists {
				s.token = ""
			}
			aws, _ := newAWS(s)
			look(t, c.reason, aws, c.want, c.fails)
		})
	}
}

// Answers to PUT do not reach a pod that is a network hop away: they do not
// come at all, and the error says why.
func TestAWSHopLimit(t *testing.T) {
	s := newIMDS(t, map[string]page{"PUT " + awsToken: {hang: true}})
	aws, _ := newAWS(s)
	err := aws.renew(t.Context())
	if err == nil || !timedOut(err) {
		t.Fatalf("the error is %v", err)
	}
	if want := "HttpPutResponseHopLimit"; !contains(err, want) {
		t.Errorf("the error %q does not name %s", err, want)
	}
}
