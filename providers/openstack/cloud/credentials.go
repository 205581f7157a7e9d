package cloud

import (
	"cmp"
	"crypto/tls"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
)

// The keys of OpenShift's secrets.
const (
	keyClouds = "clouds.yaml"
	keyCA     = "cacert"
)

// login has the credentials and settings to open a cloud.
type login struct {
	auth     gophercloud.AuthOptions
	endpoint gophercloud.EndpointOpts
	tls      *tls.Config
}

// loginOf reads the credentials in the format of either API, whichever the secret has: a clouds.yaml, or
// single values. The spec may name the cloud in clouds.yaml, and the region.
func loginOf(credentials map[string][]byte, cloud, region string, ca []byte) (login, error) {
	if raw, ok := credentials[keyClouds]; ok {
		return loginByFile(credentials, raw, cloud, region, ca)
	}
	return loginByKeys(credentials, region, ca)
}

func loginByFile(credentials map[string][]byte, raw []byte, cloud, region string, ca []byte) (login, error) {
	var file clouds.Clouds
	if err := yaml.Unmarshal(raw, &file); err != nil {
		// The decoder's error may quote a password.
		return login{}, provider.Errorf(provider.Denied, "the credentials' %s is no YAML of clouds", keyClouds)
	}
	c, err := cloudIn(file, cloud)
	if err != nil {
		return login{}, err
	}
	a := c.AuthInfo
	if a == nil {
		return login{}, provider.Errorf(provider.Denied, "the cloud in %s has no auth", keyClouds)
	}
	w := identity{
		url: a.AuthURL, user: a.Username, userID: a.UserID, password: a.Password, token: a.Token,
		userDomain: domain{cmp.Or(a.UserDomainID, a.DomainID), cmp.Or(a.UserDomainName, a.DomainName)},
		project:    a.ProjectName, projectID: a.ProjectID,
		projectDomain: domain{cmp.Or(a.ProjectDomainID, a.DomainID), cmp.Or(a.ProjectDomainName, a.DomainName)},
		appID:         a.ApplicationCredentialID, appName: a.ApplicationCredentialName, appSecret: a.ApplicationCredentialSecret, trust: a.TrustID,
	}
	l := login{endpoint: gophercloud.EndpointOpts{Region: cmp.Or(region, c.RegionName), Availability: availability(cmp.Or(c.EndpointType, c.Interface))}}
	if l.auth, err = w.options(); err != nil {
		return login{}, err
	}
	// Paths in the file belong to the machine on which it was written: certificates come from the secret.
	l.tls, err = tlsOf(pick(credentials[keyCA], ca), credentials["cert"], credentials["key"], c.Verify != nil && !*c.Verify)
	return l, err
}

// cloudIn returns the cloud of that name; without a name, the only one, or "openstack".
func cloudIn(file clouds.Clouds, cloud string) (clouds.Cloud, error) {
	if cloud == "" && len(file.Clouds) == 1 {
		for only := range file.Clouds {
			cloud = only
		}
	}
	cloud = cmp.Or(cloud, "openstack")
	c, ok := file.Clouds[cloud]
	if !ok {
		return c, provider.Errorf(provider.Denied, "the credentials' %s has no cloud %q: it has %q", keyClouds, cloud, slices.Sorted(maps.Keys(file.Clouds)))
	}
	return c, nil
}

func loginByKeys(credentials map[string][]byte, region string, ca []byte) (login, error) {
	get := func(key string) string { return strings.TrimSpace(string(credentials[key])) }
	w := identity{
		url: get("authURL"), user: get("username"), password: get("password"),
		userDomain: domain{get("userDomainID"), get("userDomainName")}, project: get("tenantName"), projectID: get("tenantID"),
		projectDomain: domain{get("domainID"), get("domainName")},
		appID:         get("applicationCredentialID"), appName: get("applicationCredentialName"), appSecret: get("applicationCredentialSecret"),
	}
	insecure := get("insecure")
	switch {
	case w.password != "" && w.appSecret != "":
		return login{}, provider.Errorf(provider.Denied, "the credentials have both a password and an applicationCredentialSecret: leave one out")
	case insecure != "" && insecure != "true" && insecure != "false":
		return login{}, provider.Errorf(provider.Denied, "the credentials' insecure is %q: it must be true or false", provider.Clip(insecure, 40))
	}
	if w.userDomain == (domain{}) {
		w.userDomain = w.projectDomain
	}
	if w.projectDomain == (domain{}) {
		w.projectDomain = w.userDomain
	}
	l := login{endpoint: gophercloud.EndpointOpts{Region: region, Availability: gophercloud.AvailabilityPublic}}
	var err error
	if l.auth, err = w.options(); err != nil {
		return login{}, err
	}
	l.tls, err = tlsOf(pick(credentials["caCert"], credentials[keyCA], ca), credentials["clientCert"], credentials["clientKey"], insecure == "true")
	return l, err
}

// identity identifies the user of a token, with the names of both APIs.
type identity struct {
	url, user, userID, password, token string
	userDomain                         domain
	project, projectID                 string
	projectDomain                      domain
	appID, appName, appSecret, trust   string
}

// domain is a domain of Keystone by ID, which has precedence, or by name.
type domain struct{ id, name string }

func (d domain) one() domain {
	if d.id != "" {
		d.name = ""
	}
	return d
}

// options returns the SDK's options. The scope is always explicit: otherwise the SDK looks for a project in
// the domain of its user.
func (w identity) options() (gophercloud.AuthOptions, error) {
	user, project := w.userDomain.one(), w.projectDomain.one()
	o := gophercloud.AuthOptions{IdentityEndpoint: w.url, AllowReauth: true}
	switch {
	case w.url == "":
		return o, provider.Errorf(provider.Denied, "the credentials have no URL of Keystone (auth_url in clouds.yaml, or authURL)")
	case !strings.HasPrefix(w.url, "http://") && !strings.HasPrefix(w.url, "https://"):
		return o, provider.Errorf(provider.Denied, "the credentials' URL of Keystone, %q, is invalid", provider.Clip(w.url, 100))
	case w.appID != "" || w.appName != "":
		o.ApplicationCredentialID, o.ApplicationCredentialName, o.ApplicationCredentialSecret = w.appID, w.appName, w.appSecret
		if w.appID == "" {
			o.Username, o.UserID, o.DomainID, o.DomainName = w.user, w.userID, user.id, user.name
		}
		return o, nil
	case w.token != "":
		o.TokenID, o.AllowReauth = w.token, false
	default:
		o.Username, o.UserID, o.Password = w.user, w.userID, w.password
		if w.userID == "" {
			o.DomainID, o.DomainName = user.id, user.name
		}
	}
	switch {
	case w.trust != "":
		o.Scope = &gophercloud.AuthScope{TrustID: w.trust}
	case w.projectID != "":
		o.Scope = &gophercloud.AuthScope{ProjectID: w.projectID}
	case w.project != "":
		o.Scope = &gophercloud.AuthScope{ProjectName: w.project, DomainID: project.id, DomainName: project.name}
	}
	return o, nil
}

func availability(word string) gophercloud.Availability {
	switch {
	case strings.HasPrefix(word, "internal"):
		return gophercloud.AvailabilityInternal
	case strings.HasPrefix(word, "admin"):
		return gophercloud.AvailabilityAdmin
	}
	return gophercloud.AvailabilityPublic
}

func pick(all ...[]byte) []byte {
	for _, b := range all {
		if len(b) > 0 {
			return b
		}
	}
	return nil
}

var errNoCertificate = errors.New("there is no certificate in it")

// tlsOf returns nil for the default configuration.
func tlsOf(ca, cert, key []byte, insecure bool) (*tls.Config, error) {
	if len(ca) == 0 && len(cert) == 0 && !insecure {
		return nil, nil //nolint:nilnil // The SDK's own.
	}
	c := &tls.Config{InsecureSkipVerify: insecure, MinVersion: tls.VersionTLS12} //nolint:gosec // Only if the credentials ask for it.
	if len(ca) > 0 {
		pool, ok := infrastructure.Trusted(ca)
		if !ok {
			return nil, provider.Errorf(provider.Denied, "the bundle of certificate authorities: %w", errNoCertificate)
		}
		c.RootCAs = pool
	}
	if len(cert) > 0 {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, provider.Errorf(provider.Denied, "the client's certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
