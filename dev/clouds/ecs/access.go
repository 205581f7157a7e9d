package ecs

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// authenticate identifies the caller.
func (c authenticator) authenticate(r *http.Request, body []byte, in *call) *failure {
	in.account = c.options.Inventory.Account
	s, ok := signatureOf(r, body, in.values)
	if !ok {
		return refuse("MissingAccessKeyId", "AccessKeyId is mandatory for this action.")
	}
	for _, known := range c.credentials() {
		if known.AccessKeyID != s.key {
			continue
		}
		in.caller, in.account = known, cmp.Or(known.Account, in.account)
		switch {
		case s.stale(time.Now()):
			return refuse("InvalidTimeStamp.Expired", "Specified time stamp or date value is expired.")
		case !s.holds(known.AccessKeySecret):
			return refuse("SignatureDoesNotMatch", "Specified signature does not match our calculation.")
		case s.token != known.SecurityToken:
			return refuse("InvalidSecurityToken.MismatchWithAccessKey", "Specified SecurityToken mismatch with the AccessKey.")
		}
		return nil
	}
	if c.stranger() {
		in.caller.AccessKeyID = s.key
		return nil
	}
	return refuse("InvalidAccessKeyId.NotFound", "Specified access key is not found.")
}

// stranger reports whether callers that are not in the inventory are accepted, with any secret.
func (c authenticator) stranger() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.options.AcceptAny && !c.revoked.strangers
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
func getCallerIdentity(_ *Cloud, in *call) (object, *failure) {
	if in.caller.AccessKeyID == "" {
		return nil, refuse("MissingAccessKeyId", "AccessKeyId is mandatory for this action.")
	}
	return object{
		"AccountId": in.account, "UserId": "216959339000000001", "IdentityType": "RAMUser", "Arn": "acs:ram::" + in.account + ":user/machines", "PrincipalId": "216959339000000001",
	}, nil
}

// Administered is a cloud with its administration: credentials can be revoked and issued, and instances
// planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// revoked are the revoked credentials.
type revoked struct {
	credentials []Credential
	// strangers: credentials that are not in the inventory are refused.
	strangers bool
}

// Revoke implements [double.Lender].
func (c Administered) Revoke() {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &c.options.Inventory
	var others []Credential
	for _, k := range v.Credentials {
		if cmp.Or(k.Account, v.Account) != v.Account {
			others = append(others, k)
		} else {
			c.revoked.credentials = append(c.revoked.credentials, k)
		}
	}
	v.Credentials, c.revoked.strangers = others, true
}

// Restore implements [double.Lender].
func (c Administered) Restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &c.options.Inventory
	v.Credentials = append(v.Credentials, c.revoked.credentials...)
	c.revoked = revoked{}
}

// otherAccount is the account for names that are not numbers.
const otherAccount = "6543210987654321"

// Issue implements [double.Lender]. All other accounts are the same account: in this simulator accounts differ
// only by their instances.
func (c Administered) Issue(account string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sample.AccessKeyID == "" {
		return nil, errors.New("the inventory has no credentials that others could stand for")
	}
	k := Credential{AccessKeyID: "LTAI" + strings.ReplaceAll(c.newID("key"), "-", ""), AccessKeySecret: c.newID("secret")}
	if account != "" {
		k.Account = otherAccount
	}
	c.options.Inventory.Credentials = append(c.options.Inventory.Credentials, k)
	return map[string]string{c.sample.AccessKeyID: k.AccessKeyID, c.sample.AccessKeySecret: k.AccessKeySecret}, nil
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	i, ok := c.instances.Get(id)
	if !ok {
		return fmt.Errorf("there is no instance %q", id)
	}
	parameters := map[string]string{}
	for key, values := range i.Request.values {
		if !strings.HasPrefix(key, "Tag.") && key != "ClientToken" && key != "PrivateIpAddress" && len(values) > 0 {
			parameters[key] = values[0]
		}
	}
	for _, key := range []string{"InstanceName", "HostName"} {
		if parameters[key] != "" {
			parameters[key] = rename(parameters[key])
		}
	}
	_, err := c.Plant(parameters, double.Renamed(i.Tags, rename))
	return err
}
