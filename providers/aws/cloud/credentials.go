package cloud

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
)

// The keys of secrets with credentials. Each pair of keys is that of one original, or a former one of it.
const (
	keyFile          = "credentials"               // a whole file of shared credentials
	keyIdentityFile  = "workloadIdentityTokenFile" // with keyRole
	keyRole          = "roleARN"
	keySessionToken  = "aws_session_token"
	keySessionTokens = "sessionToken"
	keyUserData      = "userData" // in the same secret as credentials in one API
)

var keyPairs = [][2]string{
	{"aws_access_key_id", "aws_secret_access_key"},
	{"accessKeyID", "secretAccessKey"},
	{"providerAccessKeyId", "providerSecretAccessKey"},
}

// identity is the caller of AWS: keys, or a role that a token opens, or the identity of the process.
type identity struct {
	key, secret, token string
	role, tokenFile    string
	sessionName        string
}

// identityOf reads a secret. Missing parts are a Denied error, since other credentials fix it.
func identityOf(secret map[string][]byte) (identity, error) {
	text := func(key string) string { return strings.TrimSpace(string(secret[key])) }
	if file := text(keyIdentityFile); file != "" {
		if text(keyRole) == "" {
			return identity{}, provider.Errorf(provider.Denied, "the secret has %s without %s", keyIdentityFile, keyRole)
		}
		return identity{role: text(keyRole), tokenFile: file}, nil
	}
	if len(secret[keyFile]) > 0 {
		return profileOf(secret[keyFile])
	}
	for _, pair := range keyPairs {
		key, value := text(pair[0]), text(pair[1])
		switch {
		case key != "" && value != "":
			return identity{key: key, secret: value, token: text(keySessionToken) + text(keySessionTokens)}, nil
		case key != "" || value != "":
			return identity{}, provider.Errorf(provider.Denied, "the secret needs both %s and %s", pair[0], pair[1])
		}
	}
	for key := range secret {
		if key != keyUserData {
			return identity{}, provider.Errorf(provider.Denied, "the secret has no credentials of AWS: neither %s, nor %s with its secret, nor %s", keyFile, keyPairs[0][0], keyIdentityFile)
		}
	}
	return identity{}, nil
}

// profileOf reads the profile "default" of a file of shared credentials. A user who may write a secret must
// not run programs here: credential_process is refused.
func profileOf(file []byte) (identity, error) {
	var id identity
	section := "default"
	lines := bufio.NewScanner(bytes.NewReader(file))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.TrimSpace(strings.TrimPrefix(strings.Trim(line, "[]"), "profile "))
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name, value = strings.TrimSpace(name), strings.TrimSpace(value); !ok || section != "default" || strings.HasPrefix(name, "#") {
			continue
		}
		fields := map[string]*string{
			"aws_access_key_id": &id.key, "aws_secret_access_key": &id.secret, "aws_session_token": &id.token,
			"role_arn": &id.role, "web_identity_token_file": &id.tokenFile, "role_session_name": &id.sessionName,
		}
		if name == "credential_process" {
			return identity{}, provider.Errorf(provider.Denied, "the file in %q runs a program (credential_process), which is not done", keyFile)
		}
		if field, ok := fields[name]; ok {
			*field = value
		}
	}
	if (id.key == "" || id.secret == "") && (id.role == "" || id.tokenFile == "") {
		return identity{}, provider.Errorf(provider.Denied, "the profile \"default\" of the file in %q has neither a pair of keys nor role_arn with web_identity_token_file", keyFile)
	}
	return id, nil
}

// relevant are the parts of a secret that identify the caller, so that different user data does not create
// another client.
func relevant(secret map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	keys := []string{keyFile, keyIdentityFile, keyRole, keySessionToken, keySessionTokens}
	for _, pair := range keyPairs {
		keys = append(keys, pair[0], pair[1])
	}
	for _, key := range keys {
		if value, ok := secret[key]; ok {
			out[key] = value
		}
	}
	return out
}

// location has the region and the endpoints of AWS.
type location struct {
	region string
	// endpoints replace AWS's, by the service's name: "ec2", "elasticloadbalancing", "sts".
	endpoints map[string]string
	ca        []byte // PEM, besides the system's
}

func (p location) endpoint(service string) *string {
	if url := p.endpoints[service]; url != "" {
		return aws.String(url)
	}
	return nil
}

// configOf is the SDK's configuration. The SDK never retries: the caller does.
func configOf(ctx context.Context, secret map[string][]byte, p location) (aws.Config, error) {
	id, err := identityOf(secret)
	if err != nil {
		return aws.Config{}, err
	}
	web, err := httpClient(p.ca)
	if err != nil {
		return aws.Config{}, err
	}
	options := []func(*config.LoadOptions) error{
		config.WithRegion(p.region), config.WithHTTPClient(web), config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
		config.WithAppID("millwright"),
	}
	if id.key != "" && id.secret != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(id.key, id.secret, id.token)))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("configure the client of AWS: %w", err)
	}
	c.HTTPClient = checkedClient{c.HTTPClient}
	if id.tokenFile != "" {
		c.Credentials = aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(
			sts.NewFromConfig(c, func(o *sts.Options) { o.BaseEndpoint = first(p.endpoint("sts"), o.BaseEndpoint) }),
			id.role, stscreds.IdentityTokenFile(id.tokenFile), func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = id.sessionName }))
	}
	return c, nil
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// httpClient uses the proxy that the environment names, and trusts the given certificates besides the
// system's.
func httpClient(ca []byte) (*awshttp.BuildableClient, error) {
	c := awshttp.NewBuildableClient()
	if len(ca) == 0 {
		return c, nil
	}
	pool, ok := infrastructure.Trusted(ca)
	if !ok {
		return nil, fmt.Errorf("the bundle of certificates for the cloud has no certificate")
	}
	return c.WithTransportOptions(func(t *http.Transport) {
		if t.TLSClientConfig == nil {
			t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		t.TLSClientConfig.RootCAs = pool
	}), nil
}
