package ec2

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// bodyOf reads a body and restores it.
func bodyOf(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body) // the body is in memory
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
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
	arn, token := in.Get("RoleArn"), in.Get("WebIdentityToken")
	if _, ok := c.roles.Find(func(r Role) bool { return r.ARN == arn && r.Token == token }); !ok && !c.AcceptsUnknown() {
		return nil, refuse("InvalidIdentityToken", "No OpenIDConnect provider found in your account for the token, or the role %s does not trust it", arn)
	}
	keys := newKeys("ASIA")
	keys.SessionToken = newID("session")
	c.Credentials.Add(keys)
	return []node{
		el("SubjectFromWebIdentityToken", "system:serviceaccount:machines"),
		el("AssumedRoleUser", el("Arn", arn+"/"+in.Get("RoleSessionName")), el("AssumedRoleId", "AROACKCEVSQ6C2EXAMPLE:"+in.Get("RoleSessionName"))),
		el("Credentials", el("AccessKeyId", keys.AccessKeyID), el("SecretAccessKey", keys.SecretAccessKey),
			el("SessionToken", keys.SessionToken), el("Expiration", time.Now().Add(lent))),
	}, nil
}

// newKeys are keys whose ID has the prefix.
func newKeys(prefix string) Credential {
	return Credential{AccessKeyID: prefix + strings.ToUpper(double.Hex(16)), SecretAccessKey: double.Hex(40)}
}
