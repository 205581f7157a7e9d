package uiserver

import (
	"context"
	"errors"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
)

// anonymous is the user for whom the API server takes a request that it does not authenticate.
const anonymous = "system:anonymous"

// review is the name of the user with this token. At most mostReviews tokens are checked at a time.
func (s *sessions) review(ctx context.Context, token string) (string, error) {
	ctx, end := context.WithTimeout(ctx, reviewTime)
	defer end()
	select {
	case s.reviews <- struct{}{}:
		defer func() { <-s.reviews }()
	case <-ctx.Done():
		return "", refusal{http.StatusServiceUnavailable, "too many users sign in at the same time: try again later"}
	}
	user, err := userOf(ctx, s.config(token))
	if err != nil && !errors.Is(err, errInvalid) {
		s.log.Error(err, "a token could not be checked")
		return "", refusal{http.StatusServiceUnavailable, "the API server did not check the token: the server's log says why"}
	}
	return user, err
}

// userOf asks the API server for the name of the user of a connection.
func userOf(ctx context.Context, c *rest.Config) (string, error) {
	client, err := authentication.NewForConfig(c)
	if err != nil {
		return "", err
	}
	answer, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", explained(err)
	}
	if name := answer.Status.UserInfo.Username; name != "" && name != anonymous {
		return name, nil
	}
	return "", errInvalid
}

// explained is errInvalid for an error that says that the token is not valid, and the error otherwise.
func explained(err error) error {
	if apierrors.IsUnauthorized(err) {
		return errInvalid
	}
	return err
}
