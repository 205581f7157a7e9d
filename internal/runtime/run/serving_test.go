package run

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

// TestServingFlags: metrics are for those who may read them, but where the original's are not, and on the machine itself.
func TestServingFlags(t *testing.T) {
	const everybody = "--metrics-secure=false: metrics in plain HTTP need an address of the loopback interface, not "
	for _, c := range []struct {
		reason, program, args string
		secure                bool
		err                   string
	}{
		{"a program of ours", "machine-controller-kubemark", "", true, ""},
		{"on the machine itself", "machine-controller-kubemark", "--metrics-bind-address=127.0.0.1:8080", false, ""},
		{"on the machine itself", "machine-controller-kubemark", "--metrics-bind-address=localhost:8080", false, ""},
		{"on the machine itself", "machine-controller-kubemark", "--address=::1", false, ""},
		{"there too, when asked to", "machine-controller-kubemark", "--address=127.0.0.1 --metrics-secure", true, ""},
		{"every address is not the machine itself", "machine-controller-kubemark", "--metrics-bind-address=:8080", true, ""},
		{"a name could be anybody's", "machine-controller-kubemark", "--metrics-bind-address=node:8080 --metrics-secure=false", false, everybody + "node:8080: any client could read them"},
		{"everybody may not read them", "machine-controller-kubemark", "--metrics-secure=false", false, everybody + "0.0.0.0:10259: any client could read them"},
		{"none", "machine-controller-kubemark", "--metrics-bind-address=0 --metrics-secure=false", false, ""},
		{"in the place of an original", "machineset-controller", "", false, ""},
		{"in the place of an original, when asked to", "machineset-controller", "--metrics-secure", true, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var f Flags
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			f.AddFlags(fs, PlaceOf(c.program, false, 10259))
			if err := fs.Parse(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			err := f.Complete()
			if c.err == "" && (err != nil || f.serving.secure != c.secure) || c.err != "" && (err == nil || err.Error() != c.err) {
				t.Errorf("%s: %s: secure %t, %v", c.reason, c.args, f.serving.secure, err)
			}
		})
	}
}

func TestTLSFlags(t *testing.T) {
	for _, c := range []struct {
		reason, args string
		lowest       uint16
		suites       int
		err          string
	}{
		{"what Go thinks safe", "", tls.VersionTLS12, 0, ""},
		{"the cluster's profile", "--tls-min-version=VersionTLS13 --tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384", tls.VersionTLS13, 2, ""},
		{"no such version", "--tls-min-version=1.3", 0, 0, "--tls-min-version: "},
		{"no such suite", "--tls-cipher-suites=AES", 0, 0, "--tls-cipher-suites: "},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := parsed(t, strings.Fields(c.args)...)
			settings, err := f.TLS()
			if again := f.Complete(); (err == nil) != (again == nil) {
				t.Errorf("%s: %v where it is used, and %v at the start", c.reason, err, again)
			}
			if err != nil || c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) || c.err == "" {
					t.Errorf("%s: %v, want %q", c.reason, err, c.err)
				}
				return
			}
			got := &tls.Config{}
			settings(got)
			if got.MinVersion != c.lowest || len(got.CipherSuites) != c.suites {
				t.Errorf("%s: version %x, %d suites", c.reason, got.MinVersion, len(got.CipherSuites))
			}
		})
	}
}

// TestReaders: permissions are cached for a while; a failed check is never cached, and denies access.
func TestReaders(t *testing.T) {
	failing := errors.New("down")
	var reviews int
	var refusal error
	cluster := fake.NewClientset()
	cluster.PrependReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		reviews++
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		review.Status.Authenticated = review.Spec.Token != "unknown"
		review.Status.User = authenticationv1.UserInfo{Username: review.Spec.Token, Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}
		return true, review, refusal
	})
	cluster.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		s := review.Spec
		review.Status.Allowed = s.User == "prometheus" && s.Groups[0] == "g" && s.Extra["k"][0] == "v" && s.NonResourceAttributes.Path == "/metrics" && s.NonResourceAttributes.Verb == "get"
		return true, review, nil
	})
	a := &readers{cluster, cache.NewLRUExpireCache(mostReaders)}
	served := a.only(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		reason, method, path, authorization string
		down                                error
		code, reviews                       int
	}{
		{"nobody says who it is", "GET", "/metrics", "", nil, 401, 0},
		{"a password is no token", "GET", "/metrics", "Basic eDp5", nil, 401, 0},
		{"an empty token", "GET", "/metrics", "Bearer ", nil, 401, 0},
		{"the API server is away", "GET", "/metrics", "Bearer prometheus", failing, 503, 1},
		{"it is there again", "GET", "/metrics", "Bearer prometheus", nil, 200, 1},
		{"what is known is not asked again", "GET", "/metrics", "Bearer prometheus", failing, 200, 0},
		{"another path is another question", "GET", "/debug/pprof/", "Bearer prometheus", nil, 403, 1},
		{"another verb too", "PUT", "/metrics", "Bearer prometheus", nil, 403, 1},
		{"somebody without the right", "GET", "/metrics", "Bearer somebody", nil, 403, 1},
		{"a refusal is known too", "GET", "/metrics", "Bearer somebody", failing, 403, 0},
		{"a token that nobody gave", "GET", "/metrics", "Bearer unknown", nil, 401, 1},
		{"which is known too", "GET", "/metrics", "Bearer unknown", failing, 401, 0},
	} {
		reviews, refusal = 0, c.down
		w, r := httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, nil)
		if c.authorization != "" {
			r.Header.Set("Authorization", c.authorization)
		}
		served.ServeHTTP(w, r)
		if w.Code != c.code || reviews != c.reviews {
			t.Errorf("%s: %d after %d questions, want %d after %d", c.reason, w.Code, reviews, c.code, c.reviews)
		}
	}
	for _, known := range a.known.Keys() {
		if known.(question).token == [sha256.Size]byte{} {
			t.Error("two tokens may be taken for one")
		}
	}
}

// TestVerbosityChanges: --v of a process that runs.
func TestVerbosityChanges(t *testing.T) {
	t.Cleanup(func() { _ = put("0") })
	for _, c := range []struct {
		body    string
		code    int
		enabled bool
	}{{"5", 200, true}, {"much", 400, true}, {"-1", 400, true}, {"0\n", 200, false}, {"", 400, false}} {
		if code := put(c.body).Code; code != c.code || klog.V(5).Enabled() != c.enabled {
			t.Errorf("%q: %d, and V(5) is %t", c.body, code, klog.V(5).Enabled())
		}
	}
	w := httptest.NewRecorder()
	setVerbosity(w, httptest.NewRequest(http.MethodGet, "/debug/flags/v", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET gives %d", w.Code)
	}
}

func put(body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	setVerbosity(w, httptest.NewRequest(http.MethodPut, "/debug/flags/v", strings.NewReader(body)))
	return w
}
