package run

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// mostReaders is how many answers about readers are kept, allowedFor and deniedFor how long, like
	// kube-apiserver's own webhooks.
	mostReaders = 256
	allowedFor  = 5 * time.Minute
	deniedFor   = 30 * time.Second
	// askTime is the timeout of a request to the API server.
	askTime = 10 * time.Second
)

// Refusals of readers.
var (
	errUnknownReader = errors.New("want a bearer token that the cluster knows")
	errDeniedReader  = errors.New("may not")
)

// readers asks the control cluster which clients may read what a process serves: a TokenReview identifies the
// bearer of a token, a SubjectAccessReview says whether that user may use the path. The filter of
// controller-runtime does the same, and links parts of an API server for it.
type readers struct {
	cluster kubernetes.Interface
	known   *cache.LRUExpireCache
}

func newReaders(c *rest.Config, web *http.Client) (*readers, error) {
	cluster, err := kubernetes.NewForConfigAndClient(c, web)
	if err != nil {
		return nil, fmt.Errorf("make the client that asks who may read metrics: %w", err)
	}
	return &readers{cluster, cache.NewLRUExpireCache(mostReaders)}, nil
}

// OnlyReaders returns the filter of a server that answers only clients that may use its path in the cluster
// of c. It implements [metricsserver.Options.FilterProvider].
func OnlyReaders(c *rest.Config, web *http.Client) (metricsserver.Filter, error) {
	may, err := newReaders(c, web)
	if err != nil {
		return nil, err
	}
	return func(_ logr.Logger, inner http.Handler) (http.Handler, error) { return may.only(inner), nil }, nil
}

// only lets inner answer clients that may use the path. Others get 401 if the bearer is unknown, 403 if that
// user may not, 503 if the API server could not be asked.
func (a *readers) only(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch err := a.ask(r); {
		case err == nil:
			inner.ServeHTTP(w, r)
		case errors.Is(err, errUnknownReader):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case errors.Is(err, errDeniedReader):
			http.Error(w, err.Error(), http.StatusForbidden)
		default:
			http.Error(w, "the API server could not be asked who may read this: "+err.Error(), http.StatusServiceUnavailable)
		}
	})
}

// question is the key of an answer; it has only the digest of the token.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

// ask returns an error unless r may have an answer. Answers are cached, except failures.
func (a *readers) ask(r *http.Request) error {
	token, bears := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bears || token == "" {
		return errUnknownReader
	}
	q := question{sha256.Sum256([]byte(token)), strings.ToLower(r.Method), r.URL.Path}
	if known, ok := a.known.Get(q); ok {
		err, _ := known.(error)
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTime)
	defer cancel()
	err := a.review(ctx, token, q)
	switch {
	case err == nil:
		a.known.Add(q, nil, allowedFor)
	case errors.Is(err, errUnknownReader), errors.Is(err, errDeniedReader):
		a.known.Add(q, err, deniedFor)
	}
	return err
}

func (a *readers) review(ctx context.Context, token string, q question) error {
	who, err := a.cluster.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create a TokenReview: %w", err)
	}
	if !who.Status.Authenticated {
		return errUnknownReader
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	may, err := a.cluster.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: q.path, Verb: q.verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create a SubjectAccessReview: %w", err)
	}
	if !may.Status.Allowed {
		return fmt.Errorf("user %q %w %s the path %s", user.Username, errDeniedReader, q.verb, q.path)
	}
	return nil
}
