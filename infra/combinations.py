"""What cannot be deployed together, each said with what to do instead. All raise `ValueError`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

ECR_IMAGE = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/(?P<name>[a-z0-9._/-]+)"
    r"(?::(?P<tag>[\w.-]{1,128})|@(?P<digest>sha256:[0-9a-f]{64}))"
)
_HOST = re.compile(r"(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")
_CERTIFICATE = re.compile(r"arn:aws[a-z-]*:acm:us-east-1:\d{12}:certificate/[0-9a-f-]+")
_ZONE = re.compile(r"Z[A-Z0-9]+")
# a statement about an alias opens nothing: KMS looks at the key's own ARN
_KEY = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[A-Za-z0-9-]+")


def check_site(*, site: bool, auth: str, domain: str, certificate: str, hosted_zone: str) -> None:
    """The page's address and who may call it.

    CloudFront signs what it sends to a function URL, so the IAM identity there is the distribution's, whoever asked.
    """
    if site and auth == "iam":
        raise ValueError(
            "site does not go with auth iam: CloudFront signs every request itself, so all its visitors would be one caller and see each "
            "other's threads. Use auth jwt, where the token says who asks; or auth none, if that is what you want; or iam without site"
        )
    for name, value in (("domain", domain), ("certificate", certificate), ("hosted_zone", hosted_zone)):
        if value and not site:
            raise ValueError(f"{name} is of CloudFront's address, and there is none: set site to true too")
    if bool(domain) != bool(certificate):
        raise ValueError("domain and certificate go together: the certificate is the domain's, from ACM in us-east-1")
    if hosted_zone and not domain:
        raise ValueError("hosted_zone is where the domain's records go: name the domain")
    if domain and not _HOST.fullmatch(domain):
        raise ValueError(f"domain {domain!r} is no host name, as agents.example.com is one")
    if certificate and not _CERTIFICATE.fullmatch(certificate):
        raise ValueError(f"certificate {certificate!r} is no ARN of ACM in us-east-1, where CloudFront looks for it")
    if hosted_zone and not _ZONE.fullmatch(hosted_zone):
        raise ValueError(f"hosted_zone {hosted_zone!r} is no id of a Route 53 zone, which begins with Z")


def check_kms_keys(keys: Collection[str], secrets: Mapping[str, str]) -> None:
    """Keys open secrets alone, so there must be some."""
    if wrong := [key for key in keys if not _KEY.fullmatch(key)]:
        raise ValueError(f"kms_keys: {', '.join(wrong)} is no ARN of a key (…:key/…; an alias does not do)")
    if keys and not secrets:
        raise ValueError("kms_keys without secrets: there is nothing that they would decrypt")


def check_images(images: Mapping[str, str], agents: Collection[str]) -> None:
    """Images in ECR, of agents that are deployed."""
    if strangers := sorted(images.keys() - set(agents)):
        raise ValueError(f"images: {', '.join(strangers)} is not among the agents of this deployment")
    for agent, uri in images.items():
        if not ECR_IMAGE.fullmatch(uri):
            raise ValueError(
                f"images: {uri!r} of {agent} is no image in ECR, as 123456789012.dkr.ecr.eu-west-1.amazonaws.com/agents@sha256:… is; "
                "Lambda takes no other registry"
            )
