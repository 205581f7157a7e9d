package cloud

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

// errGone is why nothing was found: the API server knows the kind, and has no such object.
var errGone = errors.New("there is no such object")

func isGone(err error) bool { return errors.Is(err, errGone) }

// errExists says that there is an object of the name.
var errExists = errors.New("there is one of that name already")

// classify sorts what an API server says, or what came in its place.
func classify(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return unanswered(err)
	}
	s := status.ErrStatus
	if unexpected(s) {
		return foreign(s)
	}
	switch s.Reason {
	case metav1.StatusReasonNotFound:
		return absent(s)
	case metav1.StatusReasonUnauthorized:
		return provider.Errorf(provider.Denied, "the API server takes the credentials of the kubeconfig no more: %s", s.Message)
	case metav1.StatusReasonForbidden:
		return forbidden(s)
	case metav1.StatusReasonTooManyRequests:
		return provider.ThrottledFor(after(s), errors.New(s.Message))
	case metav1.StatusReasonAlreadyExists:
		return &provider.Error{Kind: provider.Conflict, Err: errExists}
	case metav1.StatusReasonConflict:
		return provider.Errorf(provider.Conflict, "%s", s.Message)
	case metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest, metav1.StatusReasonRequestEntityTooLarge:
		return refused(s)
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
func foreign(s metav1.Status) error {
	switch s.Code {
	case http.StatusUnauthorized:
		return provider.Errorf(provider.Denied, "the address answers with status 401: it takes the credentials of the kubeconfig no more")
	case http.StatusForbidden:
		return provider.Errorf(provider.Denied, "the address answers with status 403, and not as an API server does: does something stand before it?")
	case http.StatusTooManyRequests:
		return provider.ThrottledFor(after(s), errors.New("the API server has too many requests"))
	case http.StatusNotFound:
		return noKind("what is asked for")
	}
	return provider.Errorf(provider.Transient, "the address answers with status %d, and not as an API server does: is it that of an API server, and does it run?", s.Code)
}

// noKind is about objects that nobody serves.
func noKind(resource string) error {
	return provider.Errorf(provider.Transient, "the cluster does not serve %s: are KubeVirt and CDI installed there, and ready?", resource)
}

// absent tells an object that is not there from a namespace that is not.
func absent(s metav1.Status) error {
	if s.Details != nil && s.Details.Kind == "namespaces" {
		return provider.Errorf(provider.Denied, "the cluster has no namespace %s, which the kubeconfig names", s.Details.Name)
	}
	if s.Details == nil || s.Details.Name == "" {
		return noKind("what is asked for")
	}
	return errGone
}

// forbidden tells quotas and the objections of policies from missing rights.
func forbidden(s metav1.Status) error {
	switch {
	case strings.Contains(s.Message, quotaExceeded):
		return provider.ExhaustedIn(provider.ScopeAccount, "%s", s.Message)
	case strings.Contains(s.Message, "denied the request"):
		return refused(s)
	}
	return provider.Errorf(provider.Denied, "%s", s.Message)
}

func after(s metav1.Status) time.Duration {
	if s.Details == nil {
		return 0
	}
	return time.Duration(s.Details.RetryAfterSeconds) * time.Second
}

// refused names the field of the spec that an API server, or KubeVirt's own rules, objects to.
func refused(s metav1.Status) error {
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			if c.Field == "" {
				continue
			}
			e := provider.InvalidField(specField(c.Field), "%s", s.Message)
			if c.Message != "" {
				e.Err = errors.New(c.Message)
			}
			return e
		}
	}
	return provider.Errorf(provider.Invalid, "%s", s.Message)
}

// fields are those of virtual machines and the ones of specs that they are made of.
var fields = []struct {
	of     *regexp.Regexp
	become string
}{
	{regexp.MustCompile(`^spec\.dataVolumeTemplates\[0](\.spec)?`), "rootVolume"},
	{regexp.MustCompile(`^spec\.dataVolumeTemplates.*`), "additionalVolumes"},
	{regexp.MustCompile(`^spec\.template\.spec\.domain\.devices\.interfaces.*`), "networks"},
	{regexp.MustCompile(`^spec\.template\.spec\.domain\.devices\.disks.*`), "devices.disks"},
	{regexp.MustCompile(`^spec\.template\.spec\.domain\.`), ""},
	{regexp.MustCompile(`^spec\.template\.spec\.networks.*`), "networks"},
	{regexp.MustCompile(`^spec\.template\.spec\.volumes.*`), "additionalVolumes"},
	{regexp.MustCompile(`^spec\.template\.spec\.nodeSelector.*`), "zone"},
	{regexp.MustCompile(`^spec\.template\.spec\.accessCredentials.*`), "sshKeys"},
	{regexp.MustCompile(`^spec\.template\.spec\.(dns)`), "$1"},
	{regexp.MustCompile(`^(spec\.template\.)?metadata\.labels`), "tags"},
}

// specField is the field of specs for one of virtual machines, which stays as it is if no spec decides it.
func specField(path string) string {
	for _, f := range fields {
		if f.of.MatchString(path) {
			return f.of.ReplaceAllString(path, f.become)
		}
	}
	return path
}
