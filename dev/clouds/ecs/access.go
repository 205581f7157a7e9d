package ecs

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// authenticate identifies the caller.
func (c authenticator) authenticate(r *http.Request, body []byte, in *call) *failure {
	in.account = c.options.Inventory.Account
	s, ok := signatureOf(r, body, in.Values)
	if !ok {
		return refuse("MissingAccessKeyId", "AccessKeyId is mandatory for this action.")
	}
	known, ok := c.Credentials.Find(func(k Credential) bool { return k.AccessKeyID == s.key })
	switch {
	case !ok && c.AcceptsUnknown():
		in.caller.AccessKeyID = s.key
		return nil
	case !ok:
		return refuse("InvalidAccessKeyId.NotFound", "Specified access key is not found.")
	case s.stale(time.Now()):
		return refuse("InvalidTimeStamp.Expired", "Specified time stamp or date value is expired.")
	case !s.holds(known.AccessKeySecret):
		return refuse("SignatureDoesNotMatch", "Specified signature does not match our calculation.")
	case s.token != known.SecurityToken:
		return refuse("InvalidSecurityToken.MismatchWithAccessKey", "Specified SecurityToken mismatch with the AccessKey.")
	}
	in.caller, in.account = known, cmp.Or(known.Account, in.account)
	return nil
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

// otherAccount is the account for names that are not numbers.
const otherAccount = "6543210987654321"

// Issue implements [double.Lender]. All other accounts are the same account: in this simulator accounts differ
// only by their instances.
func (c Administered) Issue(account string) (map[string]string, error) {
	if c.sample.AccessKeyID == "" {
		return nil, errors.New("the inventory has no credentials that others could stand for")
	}
	k := Credential{AccessKeyID: "LTAI" + double.Hex(20), AccessKeySecret: double.Hex(30)}
	if account != "" {
		k.Account = otherAccount
	}
	c.Credentials.Add(k)
	return map[string]string{c.sample.AccessKeyID: k.AccessKeyID, c.sample.AccessKeySecret: k.AccessKeySecret}, nil
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	i, ok := c.instances.Get(id)
	if !ok {
		return fmt.Errorf("there is no instance %q", id)
	}
	parameters := i.Request.Without("Tag", "ClientToken", "PrivateIpAddress")
	for _, key := range []string{"InstanceName", "HostName"} {
		if parameters[key] != "" {
			parameters[key] = rename(parameters[key])
		}
	}
	_, err := c.Plant(parameters, double.Renamed(i.Tags, rename))
	return err
}
