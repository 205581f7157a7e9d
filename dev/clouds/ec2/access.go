package ec2

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// bodyOf reads a body and restores it.
func bodyOf(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body) // the body is in memory
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

func (c authenticator) credentials() []Credential {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Credential{}, c.options.Inventory.Credentials...)
}

// SetCredentials replaces all credentials.
func (c *Cloud) SetCredentials(all ...Credential) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.options.Inventory.Credentials = all
}

// SetLag sets the lag of reads of instances.
func (c *Cloud) SetLag(lag time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = lag
}

func (c *store) lagging() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lag
}

// getCallerIdentity is allowed to every authenticated caller.
func getCallerIdentity(_ *Cloud, in *call) ([]node, *failure) {
	if in.caller.AccessKeyID == "" {
		return nil, refuse("MissingAuthenticationToken", "Request is missing Authentication Token")
	}
	return []node{
		el("Arn", "arn:aws:iam::"+in.account+":user/machines"), el("UserId", "AIDACKCEVSQ6C2EXAMPLE"), el("Account", in.account),
	}, nil
}

// lent is the lifetime of a role's keys.
const lent = time.Hour

func assumeRoleWithWebIdentity(c *Cloud, in *call) ([]node, *failure) {
	arn, token, roles := in.get("RoleArn"), in.get("WebIdentityToken"), c.options.Inventory.Roles
	if (generator{c.store}).stranger() {
		roles = []Role{{ARN: arn, Token: token}}
	}
	for _, role := range roles {
		if role.ARN != arn || role.Token != token {
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		keys := Credential{AccessKeyID: "ASIA" + c.newID("")[2:18], SecretAccessKey: c.newID("secret"), SessionToken: c.newID("session")}
		c.options.Inventory.Credentials = append(c.options.Inventory.Credentials, keys)
		return []node{
			el("SubjectFromWebIdentityToken", "system:serviceaccount:machines"),
			el("AssumedRoleUser", el("Arn", arn+"/"+in.get("RoleSessionName")), el("AssumedRoleId", "AROACKCEVSQ6C2EXAMPLE:"+in.get("RoleSessionName"))),
			el("Credentials", el("AccessKeyId", keys.AccessKeyID), el("SecretAccessKey", keys.SecretAccessKey),
				el("SessionToken", keys.SessionToken), el("Expiration", time.Now().Add(lent))),
		}, nil
	}
	return nil, refuse("InvalidIdentityToken", "No OpenIDConnect provider found in your account for the token, or the role %s does not trust it", arn)
}
