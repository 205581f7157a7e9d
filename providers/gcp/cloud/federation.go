package cloud

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google/externalaccount"
)

// An external account in a secret decides where a token of the controller's pod is sent. The user who
// writes secrets is not the user who runs the controller, so a secret may choose neither the pod's own
// cluster token, nor another address than Google's.

// exchanged returns a source of tokens in exchange for those of an external identity: the one in the
// secret, or in the source that the file names.
func (l login) exchanged(ctx context.Context, e endpoints) (oauth2.TokenSource, error) {
	if l.universe() != defaultUniverse && !e.all() {
		return nil, denied("universe_domain of an external_account may be %s only, unless the cluster names the endpoints of all APIs", defaultUniverse)
	}
	exchange, err := l.exchangedAt(e)
	if err != nil {
		return nil, err
	}
	impersonation, err := l.impersonatedAt(e)
	if err != nil {
		return nil, err
	}
	c := externalaccount.Config{
		Audience: l.file.Audience, SubjectTokenType: l.file.SubjectTokenType, TokenURL: exchange,
		ServiceAccountImpersonationURL: impersonation, ServiceAccountImpersonationLifetimeSeconds: l.file.ImpersonationSpan.Seconds,
		WorkforcePoolUserProject: l.file.WorkforceProject, UniverseDomain: l.universe(), Scopes: []string{platformScope},
	}
	if token := strings.TrimSpace(string(l.secret[tokenKey])); token != "" {
		c.SubjectTokenSupplier = given(token)
	} else {
		c.CredentialSource = l.file.CredentialSource
	}
	s, err := externalaccount.NewTokenSource(ctx, c)
	if err != nil {
		return nil, denied("read the credentials: %w", err)
	}
	return s, nil
}

// all reports whether the cluster has the address of each API.
func (e endpoints) all() bool {
	return !slices.Contains([]string{e.compute, e.resourceManager, e.exchange, e.credentials}, "")
}

// exchangedAt is the address of the token exchange: the cluster's, or else the secret's; empty: Google's
// own.
func (l login) exchangedAt(e endpoints) (string, error) {
	if e.exchange != "" {
		return e.exchange + "v1/token", nil
	}
	return l.file.TokenURL, l.checkAt("token_url", l.file.TokenURL, "sts")
}

// impersonatedAt is the address for the impersonation of a service account, in the same way; empty: no
// impersonation.
func (l login) impersonatedAt(e endpoints) (string, error) {
	if _, path, ok := strings.Cut(l.file.ImpersonationURL, "/v1/"); ok && e.credentials != "" {
		return e.credentials + "v1/" + path, nil
	}
	return l.file.ImpersonationURL, l.checkAt("service_account_impersonation_url", l.file.ImpersonationURL, "iamcredentials")
}

// checkAt is an error if the URL in a field has another address than the API's own.
func (l login) checkAt(field, text, api string) error {
	own := api + "." + l.universe()
	at, err := url.Parse(text)
	if text == "" || err == nil && at.Scheme == "https" && at.User == nil && strings.EqualFold(at.Host, own) {
		return nil
	}
	return denied("%s of an external_account has to begin with https://%s/", field, own)
}

// podAccount are the directories of a pod's cluster token, on systems with the link from /var/run to /run
// and without.
var podAccount = []string{"/var/run/secrets/kubernetes.io", "/run/secrets/kubernetes.io"}

// isBelow reports whether a file is in one of the directories, by its name or by the target of links.
func isBelow(file string, dirs ...string) bool {
	files := resolved(file)
	for _, dir := range dirs {
		for _, d := range resolved(dir) {
			if slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f+"/", d+"/") }) {
				return true
			}
		}
	}
	return false
}

// resolved are the names of a file: the given one, and that of its target.
func resolved(file string) (names []string) {
	if name, err := filepath.Abs(file); err == nil {
		names = append(names, name)
	}
	// Links are followed before dots are removed, as the system does.
	if is, err := filepath.EvalSymlinks(file); err == nil {
		if name, err := filepath.Abs(is); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// given is a token in the secret. Another token gives another client.
type given string

// SubjectToken implements [externalaccount.SubjectTokenSupplier].
func (g given) SubjectToken(context.Context, externalaccount.SupplierOptions) (string, error) {
	return string(g), nil
}
