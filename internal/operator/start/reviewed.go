package start

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// trusted is for how long an answer of the API server about a token holds.
const trusted = time.Minute

// reviewed lets those get a page whose bearer token the API server knows, and who may get that path.
func reviewed(config *rest.Config, web *http.Client) (metricsserver.Filter, error) {
	return reviewedBy(config, web, clock.RealClock{})
}

func reviewedBy(config *rest.Config, web *http.Client, clk clock.PassiveClock) (metricsserver.Filter, error) {
	c, err := kubernetes.NewForConfigAndClient(config, web)
	if err != nil {
		return nil, fmt.Errorf("make a client for reviews: %w", err)
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		r := &reviews{client: c, clock: clk, known: map[asked]answer{}}
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			code, err := r.review(req)
			if err != nil {
				log.Error(err, "Cannot ask who wants metrics")
			}
			if code != http.StatusOK {
				http.Error(w, http.StatusText(code), code)
				return
			}
			next.ServeHTTP(w, req)
		}), nil
	}, nil
}

// reviews remember what the API server said.
type reviews struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
	mu     sync.Mutex
	known  map[asked]answer
}

// asked is what was asked, answer what came of it.
type (
	asked  struct{ token, path, verb string }
	answer struct {
		code int
		at   time.Time
	}
)

// review is the status of the answer to a request.
func (r *reviews) review(req *http.Request) (int, error) {
	token, bearer := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !bearer || token == "" {
		return http.StatusUnauthorized, nil
	}
	q := asked{token, req.URL.Path, strings.ToLower(req.Method)}
	r.mu.Lock()
	a, ok := r.known[q]
	r.mu.Unlock()
	if ok && r.clock.Since(a.at) < trusted {
		return a.code, nil
	}
	code, err := r.ask(req, q)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for old, a := range r.known {
		if r.clock.Since(a.at) >= trusted {
			delete(r.known, old)
		}
	}
	r.known[q] = answer{code, r.clock.Now()}
	return code, nil
}

func (r *reviews) ask(req *http.Request, q asked) (int, error) {
	ctx := req.Context()
	who, err := r.client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: q.token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("review a token: %w", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	may, err := r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: q.path, Verb: q.verb},
	}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("review the access of %s: %w", user.Username, err)
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
