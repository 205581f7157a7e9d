package cloud

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// The keys of secrets with credentials. Each pair of keys is that of one original, or a former one of it.
const (
	keyFile          = "credentials" // a whole file of profiles, as the command line of Alibaba Cloud writes it
	keySecurityToken = "securityToken"
)

var keyPairs = [][2]string{
	{"alicloudAccessKeyID", "alicloudAccessKeySecret"},
	{"accessKeyID", "accessKeySecret"},
}

// identity is the caller of Alibaba Cloud. The token is empty for permanent keys.
type identity struct{ key, secret, token string }

// identityOf reads a secret. Missing parts are a Denied error, since other credentials fix it.
func identityOf(secret map[string][]byte) (identity, error) {
	if len(secret[keyFile]) > 0 {
		return profileOf(secret[keyFile])
	}
	text := func(key string) string { return strings.TrimSpace(string(secret[key])) }
	for _, pair := range keyPairs {
		key, value := text(pair[0]), text(pair[1])
		switch {
		case key != "" && value != "":
			return identity{key: key, secret: value, token: text(keySecurityToken)}, nil
		case key != "" || value != "":
			return identity{}, provider.Errorf(provider.Denied, "the secret needs both %s and %s", pair[0], pair[1])
		}
	}
	return identity{}, provider.Errorf(provider.Denied, "the secret has no credentials of Alibaba Cloud: neither %s, nor %s with %s", keyFile, keyPairs[1][0], keyPairs[1][1])
}

// profileOf reads the profile "default" of a file of profiles.
func profileOf(file []byte) (identity, error) {
	var id identity
	kind, section := "access_key", "default"
	fields := map[string]*string{
		"access_key_id": &id.key, "access_key_secret": &id.secret, "sts_token": &id.token, "security_token": &id.token, "type": &kind,
	}
	lines := bufio.NewScanner(bytes.NewReader(file))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.TrimSpace(strings.Trim(line, "[]"))
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if into := fields[name]; ok && into != nil && section == "default" {
			*into = value
		}
	}
	if kind != "access_key" && kind != "sts" {
		return identity{}, provider.Errorf(provider.Denied, "the profile \"default\" of the file in %q has the type %q: only access_key and sts are supported", keyFile, kind)
	}
	if id.key == "" || id.secret == "" {
		return identity{}, provider.Errorf(provider.Denied, "the profile \"default\" of the file in %q has no access_key_id with access_key_secret", keyFile)
	}
	return id, nil
}

// relevant are the parts of a secret that identify the caller, so that different user data does not create
// another client.
func relevant(secret map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	keys := []string{keyFile, keySecurityToken}
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
