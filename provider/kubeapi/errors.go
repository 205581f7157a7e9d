package kubeapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

// ErrGone is why nothing was found: the API server knows the kind, and has no such object.
var ErrGone = errors.New("there is no such object")

// IsGone reports whether there is no such object.
func IsGone(err error) bool { return errors.Is(err, ErrGone) }

// ErrExists says that there is an object of the name.
var ErrExists = errors.New("there is one of that name already")

// classify sorts what an API server says, or what came in its place.
func (w Words) classify(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return unanswered(err)
	}
	s := status.ErrStatus
	if unexpected(s) {
		return w.foreign(s)
	}
	switch s.Reason {
	case metav1.StatusReasonNotFound:
		return w.absent(s)
	case metav1.StatusReasonUnauthorized:
		return provider.Errorf(provider.Denied, "the API server takes the credentials of the kubeconfig no more: %s", s.Message)
	case metav1.StatusReasonForbidden:
		return w.forbidden(s)
	case metav1.StatusReasonTooManyRequests:
		return provider.ThrottledFor(after(s), errors.New(s.Message))
	case metav1.StatusReasonAlreadyExists:
		return &provider.Error{Kind: provider.Conflict, Err: ErrExists}
	case metav1.StatusReasonConflict:
		return provider.Errorf(provider.Conflict, "%s", s.Message)
	case metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest, metav1.StatusReasonRequestEntityTooLarge:
		return w.refused(s)
	}
	return provider.Errorf(provider.Transient, "%s", s.Message)
}

// unanswered is about a request that got no answer. It is not quoted: the next one would have another text.
func unanswered(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("ask the API server: %w", failed.Err)
	}
	return err
}

// unexpected reports whether an answer has not the form of an API server's.
func unexpected(s metav1.Status) bool {
	if s.Details == nil {
		return false
	}
	for _, c := range s.Details.Causes {
		if c.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true
		}
	}
	return false
}

// foreign is about an answer that somebody else gave, a proxy or a server of something else: of its text only the status is told.
func (w Words) foreign(s metav1.Status) error {
	switch s.Code {
	case http.StatusUnauthorized:
		return provider.Errorf(provider.Denied, "the address answers with status 401: it takes the credentials of the kubeconfig no more")
	case http.StatusForbidden:
		return provider.Errorf(provider.Denied, "the address answers with status 403, and not as an API server does: does something stand before it?")
	case http.StatusTooManyRequests:
		return provider.ThrottledFor(after(s), errors.New("the API server has too many requests"))
	case http.StatusNotFound:
		return w.noKind("what is asked for")
	}
	return provider.Errorf(provider.Transient, "the address answers with status %d, and not as an API server does: is it that of an API server, and does it run?", s.Code)
}

// noKind is about objects that nobody serves.
func (w Words) noKind(resource string) error {
	return provider.Errorf(provider.Transient, "the cluster does not serve %s: %s", resource, w.Missing)
}

// absent tells an object that is not there from a namespace that is not.
func (w Words) absent(s metav1.Status) error {
	if s.Details != nil && s.Details.Kind == "namespaces" {
		return provider.Errorf(provider.Denied, "the cluster has no namespace %s, which is to have the objects", s.Details.Name)
	}
	if s.Details == nil || s.Details.Name == "" {
		return w.noKind("what is asked for")
	}
	return ErrGone
}

// QuotaExceeded is in what API servers say of a quota.
const QuotaExceeded = "exceeded quota"

// forbidden tells quotas and the objections of policies from missing rights.
func (w Words) forbidden(s metav1.Status) error {
	switch {
	case strings.Contains(s.Message, QuotaExceeded):
		return provider.ExhaustedIn(provider.ScopeAccount, "%s", s.Message)
	case strings.Contains(s.Message, "denied the request"):
		return w.refused(s)
	}
	return provider.Errorf(provider.Denied, "%s", s.Message)
}

func after(s metav1.Status) time.Duration {
	if s.Details == nil {
		return 0
	}
	return time.Duration(s.Details.RetryAfterSeconds) * time.Second
}

// refused names the field of the spec that an API server, or the infrastructure's own rules, objects to.
func (w Words) refused(s metav1.Status) error {
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			if c.Field == "" {
				continue
			}
			e := provider.InvalidField(w.Field(c.Field), "%s", s.Message)
			if c.Message != "" {
				e.Err = errors.New(c.Message)
			}
			return e
		}
	}
	return provider.Errorf(provider.Invalid, "%s", s.Message)
}
